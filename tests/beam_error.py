"""The experiments' beam, small: reduced as `supple bake` does and as PSSD does, against the full simulation. For tests/test_beam_error.sh.

Arguments: folder of the programs, folder to work in, r. Prints the two errors by shot, and for ten modes those of the remainder and of tets for
the whole force.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "experiments"))
from lab import Lab, beam  # noqa: E402

lab, r = Lab(sys.argv[1], sys.argv[2]), int(sys.argv[3])
lab.use(beam())
lab.flesh("seven", [-90, -60, -30, 30, 60, 90], tets=1000)
shots = list(lab.character.shots)


def ours(r, *cubature):
    """Errors by shot, and the number of tets."""
    name = lab.baked("seven", r, *cubature)
    return [lab.error("seven", name, "--newton", 2, shot=shot)[0]["error"] for shot in shots], len(lab.load(f"{name}.model.npz")["cubature_tets"])


errors, tets = ours(r)
for shot, error in zip(shots, errors):
    paper = lab.error("seven", lab.model("seven", r, "linear", error="2%", shot=shot), "--newton", 2, "--inertia", "paper", shot=shot)[0]["error"]
    print(f"{shot} {error:.5f} {paper:.5f} {tets}")
few, tets = ours(10)
whole, more = ours(10, "--whole-force")
print(f"few {max(few):.5f} {max(whole):.5f} {tets} {more}")
