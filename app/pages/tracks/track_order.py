"""The order of tracks, and which of them share a lane."""

from __future__ import annotations

from genoviz_app.pages.tracks.track import Track


def put(tracks: list[Track], track: Track, place: int) -> None:
    """Move a track to a place among the others; it gets a lane of its own."""
    take_out(tracks, track)
    track.look.is_overlay = False
    follower = tracks[place] if place < len(tracks) else None
    tracks.insert(place, track)
    if follower is not None and follower.look.is_overlay:
        # It came between tracks of one lane: those below would be drawn over it.
        follower.look.is_overlay = False


def put_before(tracks: list[Track], track: Track, other: Track | None) -> None:
    """Move a track before another one, or to the end."""
    if track is other:
        return
    rest = [t for t in tracks if t is not track]
    put(tracks, track, rest.index(other) if other is not None else len(rest))


def put_over(tracks: list[Track], track: Track, other: Track) -> None:
    """Move a track behind another one, and draw it in its lane."""
    if track is other:
        return
    take_out(tracks, track)
    tracks.insert(tracks.index(other) + 1, track)
    track.look.is_overlay = True
    track.look.is_hidden = False


def take_out(tracks: list[Track], track: Track) -> None:
    """Take a track away; what was drawn over it keeps the lane."""
    place = tracks.index(track)
    tracks.pop(place)
    if place < len(tracks) and not track.look.is_overlay:
        tracks[place].look.is_overlay = False
