"""Blocks on the hosts of a Ray cluster: all trials of a block on one host, one block at a time on each.

A host is a node with the custom resource ``pg_host``. It needs pgclinic of the same version; programs and data are
fetched and filled there. Addresses of attached servers travel as arguments of a task, never in a record.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import ray
from msgspec.structs import replace
from ray import exceptions
from ray.util.queue import Empty, Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pgclinic.errors import PgclinicError, RunFailedError, UsageError, WorkloadError
from pgclinic.fleet.here import BlockListener, Here, stage_of
from pgclinic.lab.orphan_cleanup import clean_up_orphans
from pgclinic.load.tool import this_tool
from pgclinic.model.block import BlockRecord, BlockSpec
from pgclinic.model.dataset import AttachedDataset, TwinDataset
from pgclinic.model.decoding import decoded_json, decoder_of
from pgclinic.model.event import BlockRepeated, Event
from pgclinic.model.trial import TrialRecord
from pgclinic.trial.server import binaries_of, template_of
from pgclinic.twin.kept_file import keep_content, kept_twin

SCHEME = "ray://"
RESOURCE = "pg_host"
_POLL_S = 0.2
#: After a cancel a host has this long to end its servers before it is left to the lab's own clean-up.
_CANCEL_S = 20.0
#: A block whose host was lost is started this many times in all.
_TRIES = 3


class RayFleet:
    """The cluster at ``address``: ``ray://HOST:PORT``, or ``ray://auto`` for the one that this machine belongs to.

    Raises UsageError: no such cluster, no host in it, or another version of pgclinic on one.
    """

    def __init__(self, address: str, addresses: Mapping[str, str]) -> None:
        self._addresses = dict(addresses)
        self._stopped = threading.Event()
        _connect(address)
        self._hosts = _hosts()
        if self._hosts == 0:
            raise UsageError(
                f"no node of {address} has the resource {RESOURCE}",
                hint=f"""start each with: ray start --resources='{{"{RESOURCE}": 1}}'""",
            )
        _refuse_other_versions(address)

    @property
    def capacity(self) -> int:
        """As many blocks at the same time as there are hosts."""
        return self._hosts

    def stop(self) -> None:
        """End what runs on all hosts."""
        self._stopped.set()

    def run(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        """Run the block on one host, and on another one if that is lost.

        Raises RunFailedError: hosts were lost so often, or none is left.
        """
        for _ in range(_TRIES):
            record = self._try(block, listener)
            if record is not None:
                return record
            if _hosts() == 0:
                raise RunFailedError("all hosts of the cluster are lost", hint="resume the run when they are back")
        raise RunFailedError(f"block {block.number} has lost its host {_TRIES} times")

    def _try(self, block: BlockSpec, listener: BlockListener) -> BlockRecord | None:
        """The block's record, None where its host was lost."""
        # On the node of this process: a host that is lost takes nothing along that others have sent.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        queue = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
        task = _run_block.remote(msgspec.json.encode(block), self._addresses, _twins_of(block), queue)
        arrived = _Arrived(listener)
        try:
            while not ray.wait([task], timeout=_POLL_S)[0]:
                arrived.take(queue)
                if self._stopped.is_set():
                    raise KeyboardInterrupt
            arrived.take(queue)
            record = decoded_json(ray.get(task), BlockRecord)
        except exceptions.RayTaskError as error:
            arrived.hand_over()
            raise _own(error) from None
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.ObjectLostError) as error:
            listener.on_event(_repeated(block, arrived.host, error))
            return None
        except KeyboardInterrupt:
            _cancel(task)
            arrived.take(queue)
            arrived.hand_over()
            raise
        finally:
            with contextlib.suppress(exceptions.RayError):
                queue.shutdown(force=True)
        arrived.hand_over(record.trials)
        return record


class _Arrived:
    """What a host sends while it runs a block: events are passed on, records kept until the block is whole.

    A block counts only as a whole, so the records of one that is lost halfway are never stored.
    """

    def __init__(self, listener: BlockListener) -> None:
        self._listener = listener
        self._records: list[TrialRecord] = []
        self.host: str | None = None

    def take(self, queue: Queue) -> None:
        for kind, content in _waiting(queue):
            if kind == "trial":
                record = decoded_json(content, TrialRecord)
                self.host = record.host
                self._records.append(record)
            else:
                self._listener.on_event(decoder_of(Event).decode(content))

    def hand_over(self, whole: Sequence[TrialRecord] = ()) -> None:
        """Pass on what has arrived; of a ``whole`` block all its records, in their order."""
        records, self._records = list(whole) or self._records, []
        for record in records:
            self._listener.on_trial(record)


def _twins_of(block: BlockSpec) -> dict[str, bytes]:
    """The files of the block's twins, which a host does not have."""
    datasets = (trial.dataset for trial in block.trials)
    return {dataset.sha256: kept_twin(dataset).read_bytes() for dataset in datasets if isinstance(dataset, TwinDataset)}


def _waiting(queue: Queue) -> Iterator[tuple[str, bytes]]:
    with contextlib.suppress(Empty, exceptions.RayError):
        while True:
            yield queue.get_nowait()


@ray.remote(num_cpus=0, resources={RESOURCE: 1}, max_retries=0)
def _run_block(block: bytes, addresses: dict[str, str], twins: dict[str, bytes], queue: Queue) -> bytes:
    """On a host: remove what killed workers left, fetch and fill, then run the block as ``Here`` does.

    ``twins`` are the files it needs, by hash.
    """
    # No command begins here that would do it, and a killed worker may have been the last one's.
    clean_up_orphans()
    spec = decoded_json(block, BlockSpec)
    for digest, content in twins.items():
        keep_content(digest, content)
    host = socket.gethostname()

    def send(kind: str, content: bytes) -> None:
        with contextlib.suppress(exceptions.RayError):
            queue.put((kind, content))

    def on_event(event: Event) -> None:
        send("event", msgspec.json.encode(event))

    def on_trial(record: TrialRecord) -> None:
        send("trial", msgspec.json.encode(replace(record, host=host)))

    try:
        _take_priority(host)
        _make_ready(spec, on_event)
        record = Here(addresses).run(spec, BlockListener(on_event=on_event, on_trial=on_trial))
    except PgclinicError as error:
        # An error of ours keeps its words and its exit code on the way back.
        raise _HostError(type(error).__name__, error.message, error.hint) from None
    trials = tuple(replace(trial, host=host) for trial in record.trials)
    return msgspec.json.encode(replace(record, trials=trials, host=host))


def _take_priority(host: str) -> None:
    """Ray runs its workers at a niceness of 15; servers and load would inherit it, and yield to all other work.

    Raises UsageError where this account may not raise its own priority.
    """
    wanted = os.getpriority(os.PRIO_PROCESS, os.getppid())
    if os.getpriority(os.PRIO_PROCESS, 0) <= wanted:
        return
    try:
        os.setpriority(os.PRIO_PROCESS, 0, wanted)
    except PermissionError as error:
        raise UsageError(
            f"Ray runs its workers on {host} at a lower priority than other programs",
            hint="start Ray there with RAY_worker_niceness=0 in its environment",
        ) from error


def _make_ready(block: BlockSpec, on_event: Any) -> None:
    """What ``prepare`` does on the machine of the command: programs fetched, templates filled."""
    for spec in block.trials:
        if spec.server.dsn is None and not isinstance(spec.dataset, AttachedDataset):
            trial = spec

            def on_stage(stage: str, trial: Any = trial) -> None:
                on_event(stage_of(trial, stage))

            template_of(binaries_of(spec.server), spec.dataset, on_stage)


class _HostError(Exception):
    """An error of ours on a host, in a form that travels."""

    def __init__(self, kind: str, message: str, hint: str | None) -> None:
        super().__init__(kind, message, hint)
        self.kind, self.message, self.hint = kind, message, hint


def _own(error: exceptions.RayTaskError) -> PgclinicError:
    cause = error.cause
    if not isinstance(cause, _HostError):
        return RunFailedError(f"a host failed: {cause}")
    kinds = {kind.__name__: kind for kind in (UsageError, WorkloadError)}
    return kinds.get(cause.kind, RunFailedError)(cause.message, hint=cause.hint)


def _repeated(block: BlockSpec, host: str | None, error: Exception) -> BlockRepeated:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return BlockRepeated(block=block.number, host=host, reason=reason, at_epoch_us=time.time_ns() // 1000)


def _cancel(task: Any) -> None:
    """A cancelled task is interrupted as by Ctrl-C, and so removes its servers."""
    with contextlib.suppress(exceptions.RayError):
        ray.cancel(task)
        ray.wait([task], timeout=_CANCEL_S)


def _connect(address: str) -> None:
    where = address.removeprefix(SCHEME)
    if not address.startswith(SCHEME) or not where:
        raise UsageError(f"--fleet {address} is not a Ray cluster", hint="write ray://HOST:PORT, or ray://auto")
    target = "auto" if where == "auto" else address
    try:
        ray.init(address=target, logging_level=logging.ERROR, log_to_driver=False, ignore_reinit_error=True)
    except (ConnectionError, exceptions.RayError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"cannot connect to {address}: {reason}") from error


def _hosts() -> int:
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return int(resources.get(RESOURCE, 0))


def _refuse_other_versions(address: str) -> None:
    """Records and orders have to mean the same everywhere."""
    here = this_tool()
    there = ray.get(_version.options(resources={RESOURCE: 0.001}).remote())
    if there != (here.pgclinic, here.engine):
        raise UsageError(
            f"the hosts of {address} have pgclinic {there[0]} with engine {there[1]}; here is {here.pgclinic} with "
            f"{here.engine}",
            hint="install the same version everywhere",
        )


@ray.remote(num_cpus=0, max_retries=1)
def _version() -> tuple[str, str]:
    tool = this_tool()
    return tool.pgclinic, tool.engine
