"""Keys and values that a decoder holds while it makes one token after another.

Rows that began as one row of the first call are a group: the hypotheses of one sentence. A group has one
memory and one tree of tokens, however many rows go on from it. A row attends to the nodes of the tree that lie
on its way, so nothing is copied when the rows of a beam change places; nodes on no row's way are dropped each
time the tree has doubled, and groups without rows once they are an eighth of all.

Shape letters: R rows, G groups, W rows of the largest group, T tokens of one call, Q = W x T queries of a
group, N nodes or keys, H heads, K head width, S source length.
"""

import math

import torch
from torch import Tensor

MAX_SCORES = 2**24
"""Most attention scores that are held at once (64 MiB); wider beams take several turns."""
_FIRST_NODES = 16
_MIN_PRUNED = 32  # smaller trees are not worth looking at


class KVCache:
    """Keys and values of the target tokens decoded so far, and of the memory, for every decoder layer.

    Pass one cache to successive calls of `Transformer.decode`, without gradients, to decode step by step.
    """

    def __init__(self, num_layers: int) -> None:
        self.length = 0
        """Target tokens of each row, the same for all rows."""
        self.layers = [(KeysValues(self, of_memory=False), KeysValues(self, of_memory=True)) for _ in range(num_layers)]
        self.mask_of_self: Tensor | None = None  # broadcasts to (G, 1, Q, N); None: all nodes
        self.mask_of_memory: Tensor | None = None  # (G, 1, 1, S); None: all of it
        self._device: torch.device | None = None  # known from the first call on
        self._num_groups = 0
        self._width = 1
        self._length = 1  # of this call
        self._group_R = torch.zeros(0, dtype=torch.long)  # on the CPU, where its rows are counted without waiting
        self._cell_R: Tensor | None = None  # place of each row in a grid of groups x width; None: they fill it
        self._slot_R: Tensor | None = None  # of each row in its group; None: all first
        self._on_way_RN: Tensor | None = None  # which nodes lie on the way of a row; None: all
        self._num_nodes = self._num_kept = 0

    def open(self, num_rows: int, length: int, memory_mask_B11S: Tensor | None, device: torch.device) -> None:
        """Make room for `length` more tokens of each row. The memory's mask is read at the first call."""
        if self._device is None:
            self._device, self.mask_of_memory = device, memory_mask_B11S
            self._group_R, self._num_groups = torch.arange(num_rows), num_rows
        self._length = length
        past, self._num_nodes = self._num_nodes, self._num_nodes + self._width * length
        self.length += length
        self.mask_of_self = None
        if length > 1:  # a token sees those of this call that come before it
            before_TN = torch.ones(length, past, dtype=torch.bool, device=device)
            own_TN = torch.ones(length, length, dtype=torch.bool, device=device).tril().repeat(1, self._width)
            self.mask_of_self = torch.cat((before_TN, own_TN), dim=1)
        if self._on_way_RN is None or self._slot_R is None:
            return
        own_RW = self._slot_R[:, None] == torch.arange(self._width, device=device)
        self._on_way_RN = torch.cat((self._on_way_RN, own_RW.repeat_interleave(length, dim=1)), dim=1)
        way_GWTN = self._grid(self._on_way_RN)[:, :, None]
        if self.mask_of_self is not None:
            way_GWTN = way_GWTN & self.mask_of_self
        self.mask_of_self = way_GWTN.flatten(1, 2)[:, None]

    def select(self, index_R: Tensor) -> None:
        """Keep the rows `index_R`, in that order, repeats allowed: new beams, or rows not yet finished.

        An index on a GPU must name a row of the same group for each row there is: then the GPU is not waited for.
        """
        device = self._device or index_R.device
        waits = index_R.device.type == "cpu"
        if waits:
            self._regroup(index_R, device)
        if self._on_way_RN is not None:
            self._on_way_RN = self._on_way_RN[index_R.to(device)]
            if waits:
                self._drop_nodes()
        elif self._width > 1:
            self._on_way_RN = torch.ones(len(index_R), self._num_nodes, dtype=torch.bool, device=device)

    def _regroup(self, index_R: Tensor, device: torch.device) -> None:
        """Find the groups of the rows `index_R`, and the place of each in its group."""
        self._group_R = self._group_R[index_R]
        self._drop_groups(device)
        # The slot of a row is its rank among those of its group.
        order_R = self._group_R.argsort(stable=True)
        counts_G = torch.bincount(self._group_R, minlength=self._num_groups)
        starts_G = counts_G.cumsum(0) - counts_G
        slot_R = torch.empty_like(order_R)
        slot_R[order_R] = torch.arange(len(order_R)) - starts_G[self._group_R[order_R]]
        self._width = int(counts_G.max()) if len(order_R) else 1
        cell_R = self._group_R * self._width + slot_R
        in_place = torch.equal(cell_R, torch.arange(self._num_groups * self._width))
        self._cell_R = None if in_place else cell_R.to(device)
        self._slot_R = slot_R.to(device)

    def _drop_groups(self, device: torch.device) -> None:
        kept, self._group_R = torch.unique(self._group_R, return_inverse=True)
        if len(kept) > self._num_groups - max(1, self._num_groups // 8):  # a copy of all the others is not worth it
            self._group_R = kept[self._group_R]
            return
        self._num_groups = len(kept)
        kept = kept.to(device)
        if self.mask_of_memory is not None:
            self.mask_of_memory = self.mask_of_memory[kept]
        for held in (one for layer in self.layers for one in layer):
            held.select(kept)

    def _drop_nodes(self) -> None:
        """Forget nodes that lie on the way of no row."""
        if self._on_way_RN is None or self._num_nodes < max(_MIN_PRUNED, 2 * self._num_kept):
            return
        used_GN = self._grid(self._on_way_RN).any(dim=1)
        self._num_kept = int(used_GN.sum(dim=1).max())
        if self._num_kept > self._num_nodes * 3 // 4:
            self._num_kept = self._num_nodes
            return
        self._num_nodes = self._num_kept
        nodes_GN = used_GN.int().argsort(dim=1, descending=True, stable=True)[:, : self._num_kept]
        group_R = self._group_R.to(nodes_GN.device)
        self._on_way_RN = self._on_way_RN.gather(1, nodes_GN[group_R])
        for of_self, _ in self.layers:
            of_self.take(nodes_GN)

    def _grid(self, x_R: Tensor) -> Tensor:
        """Rows (R, ...) by groups (G, W, ...), with zeros where a group has no row."""
        if self._cell_R is not None:
            cells = x_R.new_zeros(self._num_groups * self._width, *x_R.shape[1:])
            x_R = cells.index_copy_(0, self._cell_R, x_R)
        return x_R.view(self._num_groups, self._width, *x_R.shape[1:])

    def spread(self, x_RTHK: Tensor) -> Tensor:
        """What rows hold, by groups and heads: (G, H, Q, K)."""
        return self._grid(x_RTHK).flatten(1, 2).transpose(1, 2)

    def collect(self, x_GHQK: Tensor) -> Tensor:
        """The way back from `spread`."""
        num_cells = self._num_groups * self._width
        x_RTHK = x_GHQK.transpose(1, 2).reshape(num_cells, self._length, x_GHQK.size(1), x_GHQK.size(3))
        return x_RTHK if self._cell_R is None else x_RTHK[self._cell_R]


class KeysValues:
    """Keys and values of one attention, with room to grow: adding a token copies little but that token."""

    def __init__(self, cache: KVCache, *, of_memory: bool) -> None:
        self._cache = cache
        self._of_memory = of_memory
        self.num_held = 0
        """Nodes, or tokens of the memory, of each group."""
        self._held_GHNK: list[Tensor] = []  # keys, values

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been added yet."""
        return not self._held_GHNK

    @property
    def num_groups(self) -> int:
        """Groups that are held."""
        return self._held_GHNK[0].size(0) if self._held_GHNK else 0

    def append(self, keys_RTHK: Tensor, values_RTHK: Tensor) -> None:
        """Add the newest keys and values of each row, or those of the memory."""
        if self._of_memory:
            self._held_GHNK = [x.transpose(1, 2).contiguous() for x in (keys_RTHK, values_RTHK)]
            self.num_held = keys_RTHK.size(1)
            return
        new_GHQK = [self._cache.spread(x) for x in (keys_RTHK, values_RTHK)]
        if self.is_empty:
            self._held_GHNK = [new.new_empty(*new.shape[:2], 0, new.size(3)) for new in new_GHQK]
        start, end = self.num_held, self.num_held + new_GHQK[0].size(2)
        for number, (held, new) in enumerate(zip(self._held_GHNK, new_GHQK, strict=True)):
            if held.size(2) < end:
                grown = held.new_empty(*held.shape[:2], max(_FIRST_NODES, 2 * end), held.size(3))
                grown[:, :, :start] = held[:, :, :start]
                self._held_GHNK[number] = held = grown
            held[:, :, start:end] = new
        self.num_held = end

    def attend(self, query_RTHK: Tensor, weights: list[Tensor] | None = None) -> Tensor:
        """What each query gathers (R, T, H, K) from the memory, or from the tokens on the way of its row.

        `weights` receives the attention weights (R, H, T, N), as long as each group is one row.
        """
        keys_GHNK, values_GHNK = (held[:, :, : self.num_held] for held in self._held_GHNK)
        mask = self._cache.mask_of_memory if self._of_memory else self._cache.mask_of_self
        query_GHQK = self._cache.spread(query_RTHK) * (1 / math.sqrt(query_RTHK.size(-1)))
        num_groups, num_heads, num_queries, _ = query_GHQK.shape
        turn = max(1, MAX_SCORES // (num_groups * num_heads * self.num_held))
        mixed = [
            _attend(
                query_GHQK[:, :, start : start + turn],
                keys_GHNK,
                values_GHNK,
                mask if mask is None or mask.size(-2) == 1 else mask[..., start : start + turn, :],
                weights,
            )
            for start in range(0, num_queries, turn)
        ]
        return self._cache.collect(mixed[0] if len(mixed) == 1 else torch.cat(mixed, dim=2))

    def select(self, groups: Tensor) -> None:
        """Keep these groups."""
        self._held_GHNK = [held.index_select(0, groups) for held in self._held_GHNK]

    def take(self, nodes_GN: Tensor) -> None:
        """Keep these nodes of each group, in that order."""
        index_GHNK = nodes_GN[:, None, :, None]
        self._held_GHNK = [
            held.gather(2, index_GHNK.expand(-1, held.size(1), -1, held.size(3))) for held in self._held_GHNK
        ]
        self.num_held = nodes_GN.size(1)


def _attend(
    query_GHQK: Tensor, keys_GHNK: Tensor, values_GHNK: Tensor, mask: Tensor | None, weights: list[Tensor] | None
) -> Tensor:
    """Attention with scaled queries; for the few queries of a step two products are faster than the fused kernel."""
    scores_GHQN = query_GHQK @ keys_GHNK.transpose(-2, -1)
    if mask is None:
        weights_GHQN = scores_GHQN.softmax(dim=-1)
    else:  # the lowest number, not -inf, and zeros afterwards: a query that may attend to nothing gets zeros
        hidden = ~mask
        scores_GHQN.masked_fill_(hidden, torch.finfo(scores_GHQN.dtype).min)
        weights_GHQN = scores_GHQN.softmax(dim=-1).masked_fill_(hidden, 0.0)
    if weights is not None:
        weights.append(weights_GHQN)
    return weights_GHQN @ values_GHNK
