"""How Chat-UniVi merges tokens that are alike: density peaks among nearest neighbours (DPC-KNN).

PKU-YuanGroup/Chat-UniVi, ChatUniVi/model/cluster.py, after Du et al. (2016). A token is a centre if
many lie near it, and none with more about them does. No parameters.

The original adds noise of up to 1e-6 to densities so that no two are equal, and draws it anew at
each call. Here nothing is drawn: of tokens that are equally dense the earlier counts as denser.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_MOST = 3
"""Neighbours at most, where there are fewer clusters than neighbours are wanted."""


def merge(tokens: Tensor, count: int, neighbours: int) -> tuple[Tensor, Tensor]:
    """Merges tokens into clusters.

    Args:
        tokens: (sets, tokens, width).
        count: How many clusters.
        neighbours: How many of the nearest tokens a density counts, the token itself among them.

    Returns:
        (sets, clusters, width), the means of clusters, those that stand out most first; and
        (sets, tokens), the cluster of each.
    """
    if neighbours > count:
        neighbours = min(_MOST, max(count // 2, 1))
    found = assign(tokens, count, neighbours)
    return mean(tokens, found, count), found


def assign(tokens: Tensor, count: int, neighbours: int) -> Tensor:
    """Returns (sets, tokens), the cluster of each token of (sets, tokens, width)."""
    exact = tokens.float()
    # By differences: a product of matrices would put a token away from itself, and results would
    # depend on how many sets there are.
    apart = torch.cdist(exact, exact, compute_mode="donot_use_mm_for_euclid_dist")
    apart = apart / tokens.shape[-1] ** 0.5
    near = apart.topk(neighbours, dim=-1, largest=False).values
    density = near.square().mean(dim=-1).neg().exp()
    ours, theirs = density[:, :, None], density[:, None, :]
    order = torch.arange(tokens.shape[1], device=tokens.device)
    denser = (theirs > ours) | ((theirs == ours) & (order < order[:, None]))
    furthest = apart.flatten(1).amax(dim=1)[:, None, None]
    height = torch.where(denser, apart, furthest).amin(dim=-1)
    standing = (height * density).sort(dim=-1, descending=True, stable=True).indices
    centres = standing[:, :count]
    found = apart.gather(1, centres[..., None].expand(-1, -1, apart.shape[-1])).argmin(dim=1)
    numbers = torch.arange(count, device=tokens.device).expand_as(centres)
    # A centre is its own, even where two are alike.
    whole: Tensor = found.scatter(1, centres, numbers)
    return whole


def mean(tokens: Tensor, found: Tensor, count: int) -> Tensor:
    """Returns (sets, clusters, width), the mean of each cluster's tokens."""
    belongs = functional.one_hot(found, count).to(tokens.dtype)
    share = 1 / (belongs.sum(dim=1, keepdim=True) + 1e-6)  # as in the original
    # A product of matrices: sums by index have no fixed order on a GPU.
    return (belongs * share).transpose(1, 2) @ tokens
