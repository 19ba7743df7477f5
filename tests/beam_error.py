"""The experiments' beam, small: reduced as `supple bake` does and as PSSD does, each against the full simulation on its own rest shape. For
tests/test_beam_error.sh.

Arguments: folder of the programs, folder to work in, r. Prints the two errors and the number of tets by shot, and the largest with ten modes.
Which tets are chosen hangs on the last bits of the fit: errors of r = 50 lie between 0.7 and 1.1 % for fits that differ by 1e-13. So both are
medians of r - 1, r and r + 1 modes.
"""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "experiments"))
from lab import Lab, beam  # noqa: E402

lab, r = Lab(sys.argv[1], sys.argv[2]), int(sys.argv[3])
lab.use(beam())
lab.flesh("seven", [-90, -60, -30, 30, 60, 90], tets=1000)
lab.flesh("turned", [-90, -60, -30, 30, 60, 90], tets=1000, fit=("--frequency", 4))
shots = list(lab.character.shots)


def ours(r):
    """Errors by shot, and the number of tets."""
    name = lab.baked("turned", r)
    return [lab.error("turned", name, "--newton", 2, shot=shot)[0]["error"] for shot in shots], len(lab.load(f"{name}.model.npz")["cubature_tets"])


def paper(r, shot):
    return lab.error("seven", lab.model("seven", r, "linear", error="2%", shot=shot), "--newton", 2, "--inertia", "paper", shot=shot)[0]["error"]


sizes = (r - 1, r, r + 1)
trained = [ours(k) for k in sizes]
tets = trained[1][1]
for shot, *errors in zip(shots, *(errors for errors, _ in trained)):
    print(f"{shot} {statistics.median(errors):.5f} {statistics.median(paper(k, shot) for k in sizes):.5f} {tets}")
few, tets = ours(10)
print(f"few {max(few):.5f} {tets}")
