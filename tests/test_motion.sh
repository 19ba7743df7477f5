#!/bin/sh
# supple motion as a program: on the demo's creature and on a mesh sequence; its file is an animation as any other.
. "$(dirname "$0")/tap.sh"

supple creature -q --progress none -o creature.glb && supple import -q creature.glb --clip Trot -o trot.anim.npz &&
    supple import -q creature.glb --clip Stop -o stop.anim.npz && supple poses -q trot.anim.npz stop.anim.npz -m 4 -o c.poses.npz
check "a creature with two clips" $?

run supple motion c.poses.npz trot.anim.npz stop.anim.npz -o a.anim.npz -j 1 --stats stats.json --progress none
check "a motion of the creature" $status "$(cat err)"
check "it says how it compares with the clips" \
    "$(grep -q 'of the clips. ranges are covered' err && grep -q '"motion": "joints"' stats.json; echo $?)" "$(cat err stats.json)"
run supple motion c.poses.npz trot.anim.npz stop.anim.npz -o b.anim.npz -j 3 -q
check "the same bytes on any number of threads" "$(cmp a.anim.npz b.anim.npz; echo $?)"
run supple motion c.poses.npz trot.anim.npz stop.anim.npz -o b.anim.npz --seed 2 -q
check "another seed, another motion" "$([ $status = 0 ] && ! cmp -s a.anim.npz b.anim.npz; echo $?)"
run supple motion c.poses.npz trot.anim.npz stop.anim.npz -o none.anim.npz -n
check "a dry run writes nothing" "$([ $status = 0 ] && [ ! -e none.anim.npz ]; echo $?)"
run supple motion c.poses.npz trot.anim.npz -o short.anim.npz --seconds 2 --fps 24 -q
check "49 frames are two seconds at 24 fps" "$(supple info short.anim.npz | grep -q 'points *f32 49 x'; echo $?)"
run supple info a.anim.npz
check "its meta says what made it" \
    "$(for line in 'seed  *1$' 'seconds  *20' 'range  *0.25' 'clip  *"motion"'; do grep -q "^  $line" out || exit; done; echo 0)"
run supple poses trot.anim.npz --shots a.anim.npz -n
check "poses takes it as a shot of the same character" "$status" "$(cat err)"
run supple poses trot.anim.npz a.anim.npz -m 5 -o d.poses.npz
check "poses takes poses from it" $status "$(cat err)"
run supple export --rig a.anim.npz -o a.pc2
check "export writes it" $status "$(cat err)"

# ---- without bones ----
mkdir frames && python3 - <<'PYTHON'
import math
for f in range(8):   # a bar that bends
    with open(f'frames/{f:02d}.obj', 'w') as o:
        for k in range(12):
            for y, z in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                o.write(f'v {k / 4} {0.1 * y + 0.02 * f * (k / 4) ** 2 * math.sin(f)} {0.1 * z}\n')
        for k in range(11):
            for i in range(4):
                j = (i + 1) % 4
                o.write('f ' + ' '.join(str(n + 1) for n in (4 * k + i, 4 * k + j, 4 * k + 4 + j, 4 * k + 4 + i)) + '\n')
PYTHON
run supple import 'frames/*.obj' --rate 12 -o bar.anim.npz -q
run supple poses bar.anim.npz -o bar.poses.npz -q
run supple motion bar.poses.npz bar.anim.npz -o m.anim.npz
check "a sequence is walked through" "$([ $status = 0 ] && grep -q 'no bones' err; echo $?)" "$(cat err)"
run supple poses bar.anim.npz --shots m.anim.npz -n
check "and has no parameters of its own" $status "$(cat err)"
run supple import frames/00.obj --rate 12 -o still.anim.npz -q
run supple poses still.anim.npz -o still.poses.npz -q
run supple motion still.poses.npz still.anim.npz -o none.anim.npz
check "a single frame is an error with a sentence" \
    "$([ $status = 3 ] && grep -q 'single frame' err && [ ! -e none.anim.npz ]; echo $?)" "$status $(cat err)"
run supple motion c.poses.npz bar.anim.npz -o none.anim.npz
check "another character is an error" "$([ $status = 3 ] && grep -q 'bar.anim.npz' err; echo $?)" "$status $(cat err)"

echo "1..$count"
