"""The experiments' beam, small: reduced as `supple bake` does and as PSSD does, against the full simulation. For tests/test_beam_error.sh.

Arguments: folder of the programs, folder to work in, r. Prints the two errors by shot.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "experiments"))
from lab import Lab, beam  # noqa: E402

lab, r = Lab(sys.argv[1], sys.argv[2]), int(sys.argv[3])
lab.use(beam())
lab.flesh("seven", [-90, -60, -30, 30, 60, 90], tets=1000)
shots = ["beam", "fast"]
anims = [f"{shot}.anim.npz" for shot in shots]
lab.run("modes", "seven.tet.npz", "seven.fit.npz", "-r", r, "--shots", *anims, "-o", "modes.npz")
lab.run("align", "seven.tet.npz", "seven.fit.npz", "modes.npz", "-o", "basis.npz")
lab.run("cubature", "seven.tet.npz", "seven.poses.npz", "seven.fit.npz", "basis.npz", "--shots", *anims, "-o", "ours.model.npz")
for shot in shots:
    ours = lab.error("seven", "ours", "--newton", 2, shot=shot)[0]["error"]
    paper = lab.error("seven", lab.model("seven", r, "linear", error="2%", shot=shot), "--newton", 2, "--inertia", "paper", shot=shot)[0]["error"]
    print(f"{shot} {ours:.5f} {paper:.5f} {len(lab.load('ours.model.npz')['cubature_tets'])}")
