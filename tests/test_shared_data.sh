#!/bin/sh
# Everything in the folder of real characters ($SUPPLE_DATA) imports and gives poses: rigs, blend shapes, sequences, caches.
. "$(dirname "$0")/tap.sh"
data=$SUPPLE_DATA

# WHAT FILE VERTICES PATTERN OPTIONS...: imports it, expects that many source vertices and the pattern in what info prints,
# and takes three poses of it
take() {
    what=$1 file=$2 vertices=$3 pattern=$4
    shift 4
    case $file in
    *%*) [ -d "$(dirname "$file")" ] || { skip "$what" "no data"; return; } ;;
    *) [ -f "$file" ] || { skip "$what" "no data"; return; } ;;
    esac
    supple import -q --progress none "$file" "$@" -o a.anim.npz >log.txt 2>&1 && supple info a.anim.npz >info.txt 2>>log.txt &&
        grep -q "source_vertex  *i32 $vertices " info.txt && grep -q "$pattern" info.txt &&
        supple poses -q a.anim.npz -m 3 -o a.poses.npz >>log.txt 2>&1
    ok $? "$what"
    rm -f a.*.npz
}
for clip in Survey Walk Run; do take "fox, $clip" "$data/fox/Fox.glb" 1728 "clip  *\"$clip\"" --clip $clip; done
take "cesium_man" "$data/cesium_man/cesium_man.gltf" 3273 "weights  *f32 2338 x 19"
for clip in TheWave Pulse; do
    take "morph_stress_test, $clip" "$data/morph_stress_test/MorphStressTest.gltf" "[0-9]*" "morphs  *f64 8 x" --clip $clip
done
for clip in run idle; do take "mannequiny, $clip" "$data/mannequiny/mannequiny-0.3.0.glb" "[0-9]*" "clip  *\"$clip\"" --clip $clip; done
for joint in index middle ring pinky; do
    for part in proximal intermediate distal; do printf '%s-finger-phalanx-%s.rx,' $joint $part; done
done | sed 's/^/frame,/; s/,$//' >curl.csv
awk 'BEGIN { for (f = 0; f <= 24; f += 4) { printf "\n%d", f; for (k = 0; k < 12; k++) printf ",%g", -75 * f / 24 } print "" }' >>curl.csv
take "hand_left, with joint curves" "$data/hand_left/left.glb" 1360 "params  *f64 [0-9]* x 60" --clip curl.csv --degrees
bone=$data/mesh_sequences/bone
take "bone, OBJ frames" "$bone/obj/bone_%04d.obj" "[0-9]*" "points  *f32 48 x"
take "bone, Alembic" "$bone/Bone_Anim.abc" "[0-9]*" "points  *f32 400 x"
take "bone, FBX rig" "$bone/Bone_All.fbx" "[0-9]*" "weights  *f32"
for clip in flip jump run taunt; do
    take "sydney, $clip" "$data/mesh_sequences/sydney/$clip/sydney_${clip}_%03d.obj" "[0-9]*" "clip  *\"sydney_${clip}_\""
done
echo "1..$count"
