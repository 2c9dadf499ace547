"""Guests that run piece by piece."""

from __future__ import annotations

import random
import signal
import threading
from pathlib import Path

import pagewalk as pw
import pytest
from conftest import in_a_program


def to_the_end(machine: pw.Machine) -> pw.Machine:
    stop = machine.run()
    assert stop.reason == "ended" and machine.status == 0, stop
    return machine


@pytest.mark.parametrize("scheme", ["native", "nested", "shadow", "flat"])
@pytest.mark.parametrize("engine", ["match", "threaded", "compiled"])
def test_pieces_are_the_whole_to_the_unit(scheme: str, engine: str) -> None:
    keywords = {"workload": "gups:64K", "scheme": scheme, "set": {"engine": engine}}
    whole = to_the_end(pw.Machine(**keywords)).statistics()
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    lengths = random.Random(seed)
    machine, expected = pw.Machine(**keywords), 0
    while machine.ended is None:
        piece = lengths.choice([1, 2, lengths.randrange(1, 100), lengths.randrange(1, 300_000)])
        stop = machine.run(piece)
        if stop.reason == "instructions":
            expected += piece
            assert machine.instructions == expected
    assert machine.statistics() == whole


def test_the_counts_are_those_of_a_comparison() -> None:
    run = pw.compare(workload="hello", scheme="nested", fidelity="counts").runs[0]
    assert to_the_end(pw.Machine(workload="hello", scheme="nested")).instructions == run["instructions"]


def test_harts_stop_together_after_their_instructions() -> None:
    whole = pw.Machine(guest="linux", run="nproc", harts=4, memory="512M")
    to_the_end(whole)
    assert "4" in whole.output().splitlines()
    pieces = pw.Machine(guest="linux", run="nproc", harts=4, memory="512M")
    assert pieces.harts == 4
    assert pieces.run(30_000_000).reason == "instructions"
    assert pieces.instructions == 30_000_000
    assert pieces.run(7).reason == "instructions" and pieces.instructions == 30_000_007
    assert to_the_end(pieces).statistics() == whole.statistics()


def test_a_breakpoint_stops_before_its_instruction_and_a_step_executes_it() -> None:
    machine = pw.Machine(workload="gups:64K", scheme="nested")
    machine.run(300_000)
    address = machine.registers()["pc"]
    machine.step()
    stop = machine.run(breakpoints=[address])
    assert stop.reason == "breakpoint" and stop.hart == 0
    assert machine.registers()["pc"] == address
    before = machine.instructions
    assert machine.step().reason == "step"
    assert machine.instructions == before + 1


def test_watched_data_stops_before_the_access() -> None:
    machine = pw.Machine(workload="gups:64K", scheme="native")
    machine.run(300_000)
    stack = machine.registers()["x"][2]
    stop = machine.run(watch=[(stack - 4096, 8192, "any")])
    assert stop.reason == "data" and stop.address is not None
    assert stack - 4096 <= stop.address < stack + 4096
    with pytest.raises(pw.UsageError, match="there is no access `both`"):
        machine.run(watch=[(0, 8, "both")])


def test_what_is_written_is_what_the_guest_reads() -> None:
    machine = pw.Machine(workload="gups:64K")
    machine.run(300_000)
    stack = machine.registers()["x"][2]
    machine.write(stack, b"\x01\x02\x03")
    assert machine.read(stack, 3) == b"\x01\x02\x03"
    walk = machine.walk(stack)
    offset = stack % 4096
    assert machine.read(int(walk["whole"]["gpa"], 16), 3, space="guest") == b"\x01\x02\x03"
    assert machine.read(int(walk["whole"]["hpa"], 16), 3, space="host") == b"\x01\x02\x03"
    assert int(walk["whole"]["gpa"], 16) % 4096 == offset
    machine.set_registers(sscratch=77)
    assert machine.registers()["sscratch"] == 77
    with pytest.raises(pw.UsageError, match="there is no register r1"):
        machine.set_registers(r1=0)
    with pytest.raises(pw.UsageError, match="there is no hart 1: the guest has harts 0 to 0"):
        machine.registers(hart=1)
    with pytest.raises(pw.UsageError, match="0x7: "):
        machine.read(7, 8)


def test_a_walk_has_the_references_that_the_scheme_says() -> None:
    machine = in_a_program("nested:4K+4K")
    address = machine.registers()["pc"]
    walk = machine.walk(address)
    assert walk["whole"]["references"] == (walk["guest_levels"] + 1) * (walk["host_levels"] + 1) - 1
    explorer = pw.WalkExplorer(walk)
    assert len(explorer.references) == walk["whole"]["references"]
    assert any(entry["gva"] == address - address % 4096 for entry in machine.tlb()["l1i"])


def test_a_walk_of_a_program_under_shadow_tables_is_found_in_its_own_table() -> None:
    machine = in_a_program("shadow")
    walk = machine.walk(machine.registers()["pc"])
    assert walk["whole"]["references"] == 3
    assert [reference["stage"] for reference in pw.WalkExplorer(walk).references] == [1, 1, 1]


def test_a_console_is_typed_at() -> None:
    machine = pw.Machine()
    assert machine.run().reason == "idle"
    machine.output()
    machine.type_text("help\n")
    assert machine.run().reason == "idle"
    assert "walk" in machine.output()
    machine.type_text("exit\n")
    assert machine.run().reason == "ended"
    with pytest.raises(pw.PagewalkError, match="the guest has ended"):
        machine.run(1)


def test_a_snapshot_goes_on_under_another_scheme(tmp_path: Path) -> None:
    path = tmp_path / "guest.snapshot"
    machine = pw.Machine(workload="gups:64K", scheme="native")
    machine.run(500_001)
    machine.snapshot(path)
    assert "snapshot" in str(machine.ended)
    restored = pw.Machine(restore=path, scheme="nested")
    assert to_the_end(restored).output().count("gups: ok") == 1
    with pytest.raises(pw.UsageError, match="cannot be used with"):
        pw.Machine(restore=path, guest="linux")


def test_ctrl_c_ends_a_run_and_not_the_guest() -> None:
    # A shell that starts a program in the background lets it ignore the signal.
    before_test = signal.signal(signal.SIGINT, signal.default_int_handler)
    machine = pw.Machine(workload="spin")
    machine.run(1_000_000)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            machine.run(100_000_000_000)
    finally:
        signal.signal(signal.SIGINT, before_test)
    assert machine.ended is None
    before = machine.instructions
    assert machine.run(1000).reason == "instructions"
    assert machine.instructions == before + 1000


def test_two_guests_run_at_once_on_two_threads_of_python() -> None:
    machines = [pw.Machine(workload="gups:64K", scheme=scheme) for scheme in ("native", "nested")]
    threads = [threading.Thread(target=machine.run) for machine in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [machine.status for machine in machines] == [0, 0]


def test_errors_have_the_message_of_the_command() -> None:
    with pytest.raises(pw.UsageError, match="unknown workload `gupz`"):
        pw.Machine(workload="gupz")
    with pytest.raises(pw.UsageError, match="--scheme"):
        pw.Machine(workload="hello", scheme="nestled")
    with pytest.raises(pw.UsageError, match="--net is for the command"):
        pw.Machine(guest="linux", net=True)
    with pytest.raises(pw.UsageError, match="--json is for the command"):
        pw.Machine(json="x")
    with pytest.raises(pw.UsageError, match="no-such-kernel: No such file"):
        pw.Machine(guest="no-such-kernel")
