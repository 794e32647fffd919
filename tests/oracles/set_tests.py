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
    x, (g, w, maf, mac, n_carriers) = design, rare_of(dosages, max_maf, has_weights)
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


def rare_of(dosages, max_maf, has_weights):
    """Return minor alleles of rare variants, weights, frequencies, counts; number of carriers."""
    g = np.array(dosages, float)
    g[:, np.nanmean(g, 0) > 1] = 2 - g[:, np.nanmean(g, 0) > 1]
    maf = np.nanmean(g, 0) / 2
    g, maf = g[:, (maf > 0) & (maf <= max_maf)], maf[(maf > 0) & (maf <= max_maf)]
    n_carriers = (np.nan_to_num(g) > 0).any(1).sum()
    w = stats.beta.pdf(maf, 1, 25) if has_weights else np.ones(len(maf))
    return np.where(np.isnan(g), 2 * maf, g), w, maf, np.nansum(g, 0), n_carriers


def statistics_of_few_cases(u, s, p, design, dosages, max_maf):
    """Return -log10 p of burden, SKAT and ACAT-V with beta weights, by saddle points.

    u and s are the weighted scores and their covariance, p the fitted probabilities. Beyond 2
    standard deviations, variances of scores are those with which z has the p of a saddle point,
    first of variants, then of burden (Zhao et al. 2020, doi:10.1016/j.ajhg.2019.11.012).
    """
    (_, w, maf, mac, _), (g, _) = (
        rare_of(dosages, max_maf, True), adjusted_of(p, design, dosages, max_maf)
    )  # fmt: skip

    def p_of(part):
        score, variance = u[part].sum(), s[np.ix_(part, part)].sum()
        if abs(score) <= 2 * np.sqrt(variance):
            return 2 * stats.norm.sf(abs(score) / np.sqrt(variance))
        return saddle_point_p(score, g[:, part].sum(1), p, variance)

    def variance_of(part):
        return (u[part].sum() / stats.norm.isf(p_of(part) / 2)) ** 2

    everything = list(range(len(u)))
    ratios = np.sqrt([variance_of([j]) / s[j, j] for j in everything])
    wider = ratios[:, None] * s * ratios
    wider = wider * max(1, variance_of(everything) / wider.sum())
    values = np.linalg.eigvalsh(wider)
    skat = tail(u @ u, values[values > 1e-9 * values.max()], n=200_000)
    return -np.log10(p_of(everything)), -np.log10(skat), acat_v(u, s, w, maf, mac, p_of)


def adjusted_of(p, design, dosages, max_maf):
    """Return beta-weighted minor alleles less their regression on the design, and g'Wg."""
    g, w, *_ = rare_of(dosages, max_maf, True)
    v = (p * (1 - p))[:, None]
    g = w * (g - design @ np.linalg.solve(design.T @ (v * design), design.T @ (v * g)))
    return g, g.T @ (v * g)


def saddle_point_p(score, g, p, variance):
    """Return the two-sided p of a score by Lugannani and Rice, scaled to its variance."""
    size, g = abs(score) / np.sqrt(variance), g / np.sqrt(g**2 @ (p * (1 - p)))
    return tail_of_cases(g, p, size) + tail_of_cases(-g, p, size)


def tail_of_cases(g, p, size):
    """Return P(g'(y - p) >= size) for independent cases by Lugannani and Rice."""

    def tilt(t):
        return 1 / (1 + (1 - p) / p * np.exp(-g * t))

    t = optimize.brentq(lambda t: g @ (tilt(t) - p) - size, 0, 200)
    k = np.log(1 - p + p * np.exp(g * t)).sum() - t * g @ p
    root = np.sqrt(2 * (t * size - k))
    v = t * np.sqrt(g**2 @ (tilt(t) * (1 - tilt(t))))
    return stats.norm.sf(root + np.log(v / root) / root)


def acat_v(u, s, w, maf, mac, p_of=None):
    """Return -log10 p of ACAT-V, as section "ACAT-V" of Liu et al. 2019 has it.

    ``p_of`` returns the p of some variants; the normal one if None.
    """
    total = shares = 0.0
    rare = [j for j in range(len(mac)) if mac[j] <= 10]
    for part in [[j] for j in range(len(mac)) if mac[j] > 10] + [rare] * (len(rare) > 0):
        z = sum(u[j] for j in part) / np.sqrt(sum(s[i, j] for i in part for j in part))
        weight, f = np.mean([w[j] for j in part]), np.mean([maf[j] for j in part])
        share = weight**2 * f * (1 - f)
        p = 2 * stats.norm.sf(abs(z)) if p_of is None else p_of(part)
        total += share * np.tan((0.5 - p) * np.pi)
        shares += share
    return -np.log10(0.5 - np.arctan(total / shares) / np.pi)
