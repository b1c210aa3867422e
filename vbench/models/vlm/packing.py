"""Many token paths after one prefix, as rows of a bounded size in which no path sees another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

Tokens = tuple[int, ...]

PREFIX = -1
"""The node before a chunk's first: the last token of the prefix."""


@dataclass
class Chunk:
    """A row of tokens that form a tree below the prefix.

    Paths that begin alike share those tokens, which are computed once: a question's own words
    before its options, captions that begin with the same words.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """Of each token the one before it, an index into `tokens`, or `PREFIX`. Parents come first."""
    paths: dict[Tokens, list[int]] = field(default_factory=dict)
    """Of each whole path held here the indices of its tokens."""
    _children: dict[tuple[int, int], int] = field(default_factory=dict)

    def missing(self, path: Tokens) -> int:
        """Counts the tokens that the path would add."""
        node = PREFIX
        for known, token in enumerate(path):
            child = self._children.get((node, token))
            if child is None:
                return len(path) - known
            node = child
        return 0

    def add(self, path: Tokens) -> None:
        """Adds what is missing of a path."""
        node, nodes = PREFIX, []
        for token in path:
            child = self._children.setdefault((node, token), len(self.tokens))
            if child == len(self.tokens):
                self.tokens.append(token)
                self.parents.append(node)
            node = child
            nodes.append(node)
        self.paths[path] = nodes

    def depths(self) -> list[int]:
        """Returns how many tokens lie between the prefix and each token."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent == PREFIX else depths[parent] + 1)
        return depths

    def visible(self) -> np.ndarray:
        """Returns (tokens, tokens), bool: whether the row's token sees the column's.

        A token sees itself and what precedes it on its path.

        >>> chunk = Chunk()
        >>> chunk.add((7, 8)), chunk.add((7, 9))
        (None, None)
        >>> chunk.visible().astype(int).tolist()
        [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
        """
        seen = np.zeros((len(self.tokens), len(self.tokens)), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent != PREFIX:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def pack(paths: Sequence[Tokens], budget: int) -> Iterator[Chunk]:
    """Packs paths into chunks of at most `budget` tokens.

    Paths are taken in order of their tokens, so that those that begin alike meet. A path that is
    longer than the budget gets a chunk of its own. An empty path needs no token.

    >>> [chunk.tokens for chunk in pack([(1, 2), (3,), (1, 4)], 3)]
    [[1, 2, 4], [3]]
    """
    chunk = Chunk()
    for path in sorted(set(paths)):
        if not path:
            continue
        if chunk.tokens and len(chunk.tokens) + chunk.missing(path) > budget:
            yield chunk
            chunk = Chunk()
        chunk.add(path)
    if chunk.tokens:
        yield chunk
