"""The wheel works installed, away from the checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_installed_wheel_builds_and_runs_a_model_from_another_directory(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("edgepack-*.whl")
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin/python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True)
    # the dependencies are this environment's, behind the venv's own packages on the path
    [site] = (home / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    where = [python, "-c", "import packager; print(packager.__file__)"]
    shown = subprocess.run(where, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert shown.startswith(str(site))
    command = [home / "bin/edgepack", "build", ROOT / "examples/digits/digits.onnx", "--target", "host", "--json"]
    built = subprocess.run([*command, "-o", "digits"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["schema"] == 1
    verified = subprocess.run(
        [home / "bin/edgepack", "verify", "digits"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stderr
