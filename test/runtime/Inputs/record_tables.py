"""Records the tables of torch.distributed.pipelining, for PipelineTest.cpp.

    record_tables.py torch_tables.txt

A table has a heading, `# NAME ranks microbatches seconds`, its CSV as `compute_only`, and an empty line. Seconds are those
of a run in which each of F, I and W takes one, and messages none: found here by trying, not by the code under test.
"""

import csv
import io
import sys

import torch
from torch.distributed.pipelining import schedules
from torch.distributed.pipelining.stage import _PipelineStageBase

NAMES = ("GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV")


class Stage(_PipelineStageBase):
    """A stage that is on a rank, and does nothing."""

    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)
        self.has_backward, self.submod, self.device = True, None, torch.device("cpu")

    def _create_grad_recv_info(self, *_args, **_named):
        return None

    def _prepare_forward_infra(self, *_args):
        pass

    def _prepare_backward_infra(self, *_args):
        pass


def make(name, ranks, microbatches):
    kind = schedules.get_schedule_class(name)
    is_multi = issubclass(kind, schedules.PipelineScheduleMulti)
    is_v = name in ("ZBVZeroBubble", "DualPipeV")
    count = ranks * (2 if is_multi else 1)
    place = {s: 2 * ranks - 1 - s if is_v and s >= ranks else s % ranks for s in range(count)}
    own = [
        Stage(num_stages=count, stage_index=s, group_size=ranks, group_rank=0, group=None, stage_index_to_group_rank=place)
        for s in range(count)
        if place[s] == 0
    ]
    schedule = kind(own if is_multi else own[0], microbatches, loss_fn=lambda _one, _other: 0)
    order = getattr(schedule, "pipeline_order", None) or schedule._get_pipeline_order()
    return [order[rank] for rank in range(ranks)], count


def seconds_of(rows, count):
    """Each rank does its next task once what it reads is there."""
    ends, free, at = {}, [0] * len(rows), [0] * len(rows)
    parts = [[part for action in row if action for part in (action.sub_actions or [action])] for row in rows]
    moved = True
    while moved:
        moved = False
        for rank, row in enumerate(parts):
            while at[rank] < len(row):
                kind, stage, i = row[at[rank]].computation_type.name, row[at[rank]].stage_index, row[at[rank]].microbatch_index
                needs, cost = [], 1
                if kind == "FORWARD":
                    needs = [("F", stage - 1, i)] if stage else []
                elif kind in ("BACKWARD_INPUT", "FULL_BACKWARD"):
                    needs = [("F", stage, i)] + ([("I", stage + 1, i)] if stage + 1 < count else [])
                elif kind == "BACKWARD_WEIGHT":
                    needs = [("I", stage, i)]
                else:
                    cost = 0
                if any(need not in ends for need in needs):
                    break
                start = max([free[rank], *(ends[need] for need in needs)])
                # One that does both sends its cotangent at the end of the first half; a message is sent after a task.
                free[rank] = start + (2 if kind == "FULL_BACKWARD" else cost)
                for part in {"FORWARD": "F", "BACKWARD_INPUT": "I", "BACKWARD_WEIGHT": "W", "FULL_BACKWARD": "IW"}.get(kind, ""):
                    ends[part, stage, i] = free[rank]
                at[rank], moved = at[rank] + 1, True
    return max(free) if all(place == len(row) for place, row in zip(at, parts)) else None


def main():
    text = ""
    for name in NAMES:
        for ranks in (2, 4):
            for microbatches in (4, 8, 16):
                try:
                    rows, count = make(name, ranks, microbatches)
                except ValueError as error:
                    print(f"{name} of {microbatches} on {ranks} ranks: {error}")
                    continue
                out = io.StringIO()
                csv.writer(out, lineterminator="\n").writerows([[repr(cell) if cell else "" for cell in row] for row in rows])
                text += f"# {name} {ranks} {microbatches} {seconds_of(rows, count)}\n{out.getvalue()}\n"
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
