"""Interrupts dist-calibrate after its first figure: the status says so, and no file is left."""
import os
import pathlib
import signal
import subprocess
import tempfile

with tempfile.TemporaryDirectory() as folder:
    process = subprocess.Popen(["dist-calibrate", "--ranks", "2", "-o", "own.json"], cwd=folder,
                               env=dict(os.environ, TMPDIR=folder), stderr=subprocess.PIPE, text=True,
                               # Who runs the test may ignore it, which programs then do, too.
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    said = ""
    for line in process.stderr:
        said += line
        if "f64 products" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]
    left = [path.name for path in pathlib.Path(folder).iterdir()]
    if "beside a transfer" in rest or process.returncode != 128 + signal.SIGINT or left:
        raise SystemExit(f"status {process.returncode}, left {left}: {said}{rest}")
