"""Each tool knows which options are another tool's: by what --help of all says."""

import re
import subprocess
import sys

ALL = {"--help", "--help-list", "--version"}
TOOLS = ["dist-calibrate", "dist-compile", "dist-exec", "dist-import", "dist-report", "dist-run"]


def read_options(tool):
    text = subprocess.run([tool, "--help"], check=True, capture_output=True, text=True).stdout
    assert "EXAMPLES:\n  " + tool in text or "EXAMPLES:\n  mpirun" in text, text
    names = {name for line in text.splitlines() for name in re.findall(r"^ +(?:-\w, ?)?(--?[\w-]+)", line)}
    assert ALL - {"--help-list"} <= names and len(names) > 4, (tool, names)
    return {name for name in names - ALL if not name.startswith("--mlir-")}


known = {tool: read_options(tool) for tool in TOOLS}
wrong = []
for tool in [*TOOLS, "dist-opt"]:
    own = known.get(tool, set()) | {"-o"}
    for option in sorted(set().union(*known.values()) - own):
        owners = [other for other in TOOLS if option in known[other]]
        text = ", ".join(owners[:-1]) + " and " + owners[-1] if len(owners) > 1 else owners[0]
        said = subprocess.run([tool, "model.mlir", option], capture_output=True, text=True)
        # What is called so elsewhere is most likely the number of ranks.
        wanted = "-n N starts" if option == "--ranks" and "-n" in own else f"{option} is an option of {text}, not of {tool}"
        if said.returncode == 0 or wanted not in said.stderr:
            wrong.append(f"{tool} {option}: {said.stderr.strip()!r}, not {wanted!r}")
    # Its own are known by whoever looks at the command line first.
    for option in sorted(own - {"-o"}):
        said = subprocess.run([tool, "no-such-model", option], capture_output=True, text=True).stderr
        if "no option " in said or "is an option of" in said:
            wrong.append(f"{tool} {option}: {said.strip()!r}")
sys.exit("\n".join(wrong) if wrong else 0)
