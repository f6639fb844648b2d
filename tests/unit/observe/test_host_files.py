"""Files of the kernel as it writes them: memory, processors, pressure, control groups, mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.observe.control_group import ControlGroup, control_group
from pgclinic.observe.filesystems import filesystems_of, mounts
from pgclinic.observe.host_files import cpu_ticks, first_line, meminfo, pressure, selected, vmstat, whole

MEMINFO = """MemTotal:       24684084 kB
MemAvailable:   23971280 kB
HugePages_Total:       5
Hugepagesize:       2048 kB
Strange line
"""
PRESSURE = """some avg10=22.78 avg60=19.67 avg300=7.86 total=49871415
full avg10=0.50 avg60=0.00 avg300=0.00 total=17
"""


def test_memory_is_in_bytes_and_pages_are_counted() -> None:
    found = meminfo(MEMINFO)
    assert found["MemTotal"] == 24684084 * 1024
    assert found["HugePages_Total"] == 5
    assert found["Hugepagesize"] == 2 << 20
    assert "Strange line" not in found
    assert meminfo("") == {}


def test_time_of_guests_is_counted_once() -> None:
    ticks = cpu_ticks("cpu  100 1 20 300 40 5 6 70 90 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
    assert ticks is not None
    assert (ticks.total, ticks.idle, ticks.iowait, ticks.stolen) == (542, 300, 40, 70)


@pytest.mark.parametrize("text", ["", "intr 5", "cpu 1 2 3"])
def test_without_the_line_of_all_processors_nothing_is_known(text: str) -> None:
    assert cpu_ticks(text) is None


def test_stalls_of_all_zones_are_added_up() -> None:
    found = vmstat("pswpin 7\nallocstall_dma 1\nallocstall_normal 20\nworkingset_nodes x\n")
    assert found["pswpin"] == 7
    assert found["allocstalls"] == 21
    assert "workingset_nodes" not in found


def test_pressure_is_a_share_and_a_sum() -> None:
    found = pressure(PRESSURE)
    assert (found["some"].share, found["some"].total_us) == (pytest.approx(0.2278), 49871415)
    assert found["full"].total_us == 17
    assert pressure("") == {}


def test_the_selected_word_is_found() -> None:
    assert selected("always [madvise] never") == "madvise"
    assert selected("tsc") is None
    assert selected(None) is None


def test_a_file_of_one_value(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text("-17\nmore\n")
    assert whole(first_line(file)) == -17
    assert first_line(tmp_path / "none") is None
    assert whole("max") is None
    assert whole(None) is None


def folder(root: Path, path: str, **files: str) -> None:
    place = root / path
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text)


def test_the_second_version_has_the_narrowest_limits_on_the_way_up(tmp_path: Path) -> None:
    folder(tmp_path, ".", cgroup__controllers="cpu memory\n")
    folder(tmp_path, "pods", cpu__max="150000 100000\n", memory__max="4000000\n", memory__current="3900000\n")
    folder(
        tmp_path,
        "pods/db",
        cpu__max="max 100000\n",
        memory__max="max\n",
        memory__current="3000000\n",
        memory__events="low 0\noom_kill 2\n",
        cpu__stat="usage_usec 5\nnr_periods 40\nnr_throttled 10\n",
    )
    (tmp_path / "pods" / "memory.stat").write_text("anon 1\ninactive_file 900000\n")
    found = control_group("0::/pods/db\n", tmp_path)
    assert found == ControlGroup(
        processors=1.5,
        memory_bytes=4_000_000,
        memory_used_bytes=3_000_000,
        oom_kills=2,
        periods=40,
        throttled_periods=10,
    )


def test_the_first_version_has_a_folder_for_each_controller(tmp_path: Path) -> None:
    folder(
        tmp_path,
        "cpu,cpuacct/docker/abc",
        cpu__cfs_quota_us="50000\n",
        cpu__cfs_period_us="100000\n",
        cpu__stat="nr_periods 8\nnr_throttled 4\nthrottled_time 9\n",
    )
    folder(tmp_path, "memory", memory__limit_in_bytes="9223372036854771712\n")
    folder(
        tmp_path,
        "memory/docker/abc",
        memory__limit_in_bytes="1000\n",
        memory__usage_in_bytes="700\n",
        memory__stat="inactive_file 1\ntotal_inactive_file 200\n",
        memory__oom_control="oom_kill_disable 0\noom_kill 1\n",
    )
    groups = "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n"
    found = control_group(groups, tmp_path)
    assert found == ControlGroup(
        processors=0.5, memory_bytes=1000, memory_used_bytes=500, oom_kills=1, periods=8, throttled_periods=4
    )


@pytest.mark.parametrize("path", ["/", "/../../docker/abc", "/docker/abc"])
def test_in_a_container_the_group_is_the_root_of_what_is_seen(tmp_path: Path, path: str) -> None:
    folder(tmp_path, ".", cgroup__controllers="cpu\n", memory__max="800\n", memory__current="80\n")
    found = control_group(f"0::{path}\n", tmp_path)
    assert (found.memory_bytes, found.memory_used_bytes) == (800, 80)


@pytest.mark.parametrize("groups", ["", "0::/\n", "nonsense", "4:memory:/a\n"])
def test_without_limits_there_are_none(tmp_path: Path, groups: str) -> None:
    assert control_group(groups, tmp_path) == ControlGroup()


def test_mounts_have_their_device_and_kind() -> None:
    text = (
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
        "31 27 0:28 / /data\\040disk rw,nosuid shared:1 master:2 - xfs /dev/vdb rw\n"
        "broken\n"
    )
    root, data = mounts(text)
    assert (root.device, root.point, root.kind, root.options) == ("254:0", "/", "ext4", ("rw", "relatime"))
    assert (data.point, data.kind) == ("/data disk", "xfs")


def test_each_file_system_of_a_server_is_named_once(tmp_path: Path) -> None:
    """A process with its folder elsewhere: pg_wal behind a link, as the server's own root has it."""
    process, data = tmp_path / "proc" / "42", tmp_path / "data"
    (data / "pg_tblspc").mkdir(parents=True)
    process.mkdir(parents=True)
    (tmp_path / "wal").mkdir()
    (data / "pg_wal").symlink_to(tmp_path / "wal")
    (process / "cwd").symlink_to(data)
    (process / "root").symlink_to("/")
    (found,) = filesystems_of(42, tmp_path / "proc")
    assert found.holds == "data, WAL"
    assert found.path == str(data)
    assert 0 < found.bytes_free <= found.bytes
    assert filesystems_of(43, tmp_path / "proc") == ()
