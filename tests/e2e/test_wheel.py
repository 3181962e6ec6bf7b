"""The wheel works installed, away from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run away from the checkout and from what points to it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_the_installed_wheel_builds_and_runs_a_model_from_another_directory(tmp_path: Path) -> None:
    made = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT, cwd=ROOT)
    assert made.returncode == 0, made.stderr
    [wheel] = tmp_path.glob("edgepack-*.whl")
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin/python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    assert run(*pip, wheel, cwd=tmp_path).returncode == 0
    # the dependencies are this environment's, behind the venv's own packages on the path
    [site] = (home / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    shown = run(python, "-c", "import packager; print(packager.__file__)", cwd=tmp_path).stdout
    assert shown.startswith(str(site))
    model = ROOT / "examples/digits/digits.onnx"
    built = run(home / "bin/edgepack", "build", model, "--target", "host", "--json", "-o", "digits", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["schema"] == 1
    verified = run(home / "bin/edgepack", "verify", "digits", cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr
