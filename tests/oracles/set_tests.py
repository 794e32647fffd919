"""Oracle: tests of sets of variants by explicit projections and numerical integration."""

from __future__ import annotations

import numpy as np
from scipy import integrate, optimize, stats

RHOS = (0, 0.1**2, 0.2**2, 0.3**2, 0.4**2, 0.5**2, 0.5, 1)


def tail(q, weights, shifts=None, n=3000):
    """Return P(sum of weights times noncentral chi-squares > q) by inversion.

    It is Imhof's integral by the midpoint rule, as Davies has it; one weight needs none.
    """
    shifts = np.zeros(len(weights)) if shifts is None else shifts
    if q <= 0:
        return 1.0
    if len(weights) == 1:
        return stats.ncx2.sf(q / weights[0], 1, shifts[0] + 1e-300)
    step = 2 * np.pi / (60 * ((weights * (1 + shifts)).sum() + q))
    places = np.arange(n) + 0.5
    logs = -1j * places * step * q
    for weight, shift in zip(weights, shifts, strict=True):
        left = 1 - 2j * weight * places * step
        logs += shift * (1 / left - 1) / 2 - np.log(left) / 2
    return 0.5 + (np.exp(logs).imag / places).sum() / np.pi


def skat_o(u, s):
    """Return p of SKAT-O and rho, for weighted scores and their covariance.

    Given b = sum u, which is normal, u is normal with mean s1 b / v and covariance
    s - s11's / v, where v = 1's1.
    """
    one, found, mixtures = np.ones(len(u)), [], []
    root = np.linalg.cholesky(s)
    for rho in RHOS:
        kernel = (1 - rho) * np.eye(len(u)) + rho * np.outer(one, one)
        weights = np.linalg.eigvalsh(root.T @ kernel @ root)
        mixtures.append(weights[weights > 1e-10 * weights.max()])
        found.append(tail(u @ kernel @ u, mixtures[-1]))
    least, v = min(found), s.sum()
    limits = [
        optimize.brentq(lambda q, w=w: tail(q, w) - least, 1e-9, 100 * w.sum(), xtol=1e-12)
        for w in mixtures
    ]
    mean, rest = s @ one / v, s - np.outer(s @ one, one @ s) / v
    weights, vectors = np.linalg.eigh(rest)
    kept = weights > 1e-10 * weights.max()
    pulls, fixed = (vectors.T @ mean)[kept], ((vectors.T @ mean)[~kept] ** 2).sum()
    weights = weights[kept]

    def integrand(b):
        if b * b > limits[-1]:
            return stats.norm.pdf(b, 0, np.sqrt(v))
        most = min(
            (limit - rho * b * b) / (1 - rho)
            for limit, rho in zip(limits[:-1], RHOS[:-1], strict=True)
        )
        shifts = (pulls * b) ** 2 / weights
        return stats.norm.pdf(b, 0, np.sqrt(v)) * tail(most - fixed * b * b, weights, shifts)

    edge = np.sqrt(limits[-1])
    inside = integrate.quad(integrand, 0, edge, epsabs=1e-8)[0]
    return 2 * (inside + stats.norm.sf(edge, 0, np.sqrt(v))), RHOS[int(np.argmin(found))]


def statistics_of(y, design, dosages, max_maf, has_weights, v=None):
    """Return the asymptotic tests of one set.

    The number of variants and carriers, burden's beta and error, -log10 p of burden, Q of SKAT,
    its -log10 p, -log10 p of burden and SKAT together, and that of ACAT-V; then u and s, weighted
    scores and their covariance. ``v`` is the covariance of y; None for a logistic model.
    """
    g, x = np.array(dosages, float), design
    g[:, np.nanmean(g, 0) > 1] = 2 - g[:, np.nanmean(g, 0) > 1]
    maf = np.nanmean(g, 0) / 2
    g, maf = g[:, (maf > 0) & (maf <= max_maf)], maf[(maf > 0) & (maf <= max_maf)]
    n_carriers = (np.nan_to_num(g) > 0).any(1).sum()
    mac = np.nansum(g, 0)
    g = np.where(np.isnan(g), 2 * maf, g)
    w = stats.beta.pdf(maf, 1, 25) if has_weights else np.ones(len(maf))
    if v is None:
        b = np.zeros(x.shape[1])
        for _ in range(50):
            p = 1 / (1 + np.exp(-x @ b))
            b += np.linalg.solve((x.T * (p * (1 - p))) @ x, x.T @ (y - p))
        inverse, residual = np.diag(p * (1 - p)), y - p
        p0 = inverse - inverse @ x @ np.linalg.inv(x.T @ inverse @ x) @ x.T @ inverse
    else:
        inverse = np.linalg.inv(v)
        p0 = inverse - inverse @ x @ np.linalg.inv(x.T @ inverse @ x) @ x.T @ inverse
        residual = p0 @ y
    u, s = w * (g.T @ residual), w[:, None] * (g.T @ p0 @ g) * w
    beta, z = u.sum() / s.sum(), u.sum() / np.sqrt(s.sum())
    values = np.linalg.eigvalsh(s)
    skat = tail(u @ u, values[values > 1e-9 * values.max()], n=200_000)
    p = 2 * stats.norm.sf(abs(z)), skat
    both = stats.cauchy.sf(np.mean(stats.cauchy.isf(p)))
    logs = [-np.log10(each) for each in (*p, both)]
    counts = len(maf), n_carriers, beta, 1 / np.sqrt(s.sum())
    return [*counts, logs[0], u @ u / 2, logs[1], logs[2], acat_v(u, s, w, maf, mac)], u, s


def acat_v(u, s, w, maf, mac):
    """Return -log10 p of ACAT-V, as section "ACAT-V" of Liu et al. 2019 has it."""
    total = shares = 0.0
    rare = [j for j in range(len(mac)) if mac[j] <= 10]
    for part in [[j] for j in range(len(mac)) if mac[j] > 10] + [rare] * (len(rare) > 0):
        z = sum(u[j] for j in part) / np.sqrt(sum(s[i, j] for i in part for j in part))
        weight, f = np.mean([w[j] for j in part]), np.mean([maf[j] for j in part])
        share = weight**2 * f * (1 - f)
        total += share * np.tan((0.5 - 2 * stats.norm.sf(abs(z))) * np.pi)
        shares += share
    return -np.log10(0.5 - np.arctan(total / shares) / np.pi)
