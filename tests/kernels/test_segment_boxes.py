"""Boxes around blocks of segments, and picked segments, however many workers share them."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.kernels.segment_raster import BLOCK_SIZE, cpu_boxes

N = 5 * BLOCK_SIZE + 7
SEGMENTS = np.random.default_rng(1).normal(0, 100, (N, 2, 2))
SEGMENTS[:: BLOCK_SIZE + 1, 1, 0] = np.nan


@pytest.fixture(params=[1, 2, 3, 7])
def n_workers(request, monkeypatch):
    monkeypatch.setattr(cpu_boxes, "n_sharing", lambda *_: request.param)
    return request.param


def box_by_hand(block):
    segments = SEGMENTS[block * BLOCK_SIZE : (block + 1) * BLOCK_SIZE]
    points = segments[np.isfinite(segments).all((1, 2))].reshape(-1, 2)
    return [*points.min(0), *points.max(0)]


def test_each_box_is_around_the_whole_segments_of_its_block(n_workers):
    expected = np.array([box_by_hand(block) for block in range(6)])
    np.testing.assert_array_equal(cpu_boxes.find_boxes(SEGMENTS), expected)
    for first in range(3):
        boxes = np.zeros((6, 4))
        cpu_boxes.refresh_boxes(SEGMENTS, boxes, first, 3)
        is_new = np.arange(6) % 3 == first
        np.testing.assert_array_equal(boxes, np.where(is_new[:, None], expected, 0))


def test_segments_of_some_nodes_are_in_their_order(n_workers):
    for n in (0, 1, 2, n_workers, 1000, N):
        nodes = np.random.default_rng(n).integers(0, N, n)
        np.testing.assert_array_equal(cpu_boxes.gather_segments(SEGMENTS, nodes), SEGMENTS[nodes])


def test_nodes_of_blocks_within_a_view_are_selected_in_their_order(n_workers):
    places = np.arange(N) // BLOCK_SIZE
    coordinates = np.repeat(places.astype(float), 4).reshape(N, 2, 2)
    boxes = cpu_boxes.find_boxes(coordinates)
    nodes = np.random.default_rng(2).integers(0, N, 999)
    # A view may have the border of a box alone.
    for views in ([[1, 1, 2, 2]], [[1.1, 1.1, 1.9, 1.9]], [[0, 0, 0.5, 9], [5, 5, 9, 9]]):
        is_seen = np.zeros(6, bool)
        for low_x, low_y, high_x, high_y in views:
            blocks = np.arange(6)
            is_seen |= (blocks >= max(low_x, low_y)) & (blocks <= min(high_x, high_y))
        found = cpu_boxes.select_nodes(nodes, boxes, np.array(views, float))
        np.testing.assert_array_equal(found, nodes[is_seen[places[nodes]]])
    everything = np.array([[0.0, 0, 9, 9]])
    assert cpu_boxes.select_nodes(nodes, boxes, everything) is nodes


def test_few_blocks_are_not_shared():
    few, many = cpu_boxes.BLOCKS_PER_WORKER, 10**6
    assert [cpu_boxes.n_sharing(n) for n in (0, 1, 2 * few - 1)] == [1, 1, 1]
    assert 1 <= cpu_boxes.n_sharing(2 * few) <= 2
    assert 1 <= cpu_boxes.n_sharing(many) <= cpu_boxes.MAX_WORKERS
