/* Writes tests/corpus/alembic/library-*.abc by Alembic's own library (1.8), so that its reader here is judged by a
 * writer that is not ours. No part of the build; where the library is installed:
 *
 *     c++ -o make_alembic tests/make_alembic.cpp -lAlembic -lImath && ./make_alembic tests/corpus/alembic
 *
 * Every point moves along a straight line in time, so that where it is can be told at any time
 * (tests/test_alembic_files.sh): a box whose corner c (0 to 7) is at (c & 1, c >> 1 & 1, c >> 2 & 1) + at + speed * t,
 * t in s. */
#include <Alembic/AbcCoreOgawa/All.h>
#include <Alembic/AbcGeom/All.h>

#include <string>
#include <vector>

using namespace Alembic::AbcGeom;

static const int32_t corners[] = {0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1,
                                  2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3}; /* clockwise */
static const int32_t counts[] = {4, 4, 4, 4, 4, 4};

static std::vector<V3f> box(double at, double speed, double time)
{
    std::vector<V3f> p;
    for (int c = 0; c < 8; c++)
        p.push_back(V3f(float((c & 1) + at + speed * time), float(c >> 1 & 1), float((c >> 2 & 1) + 2 * speed * time)));
    return p;
}

template <class Mesh, class Sample>
static void fill(Mesh &mesh, double at, double speed, const std::vector<double> &times)
{
    for (size_t k = 0; k < times.size(); k++) {
        std::vector<V3f> p = box(at, speed, times[k]);
        mesh.getSchema().set(Sample(P3fArraySample(p), Int32ArraySample(corners, 24), Int32ArraySample(counts, 6)));
    }
}

static std::vector<double> even(double start, double step, int count)
{
    std::vector<double> times;
    for (int k = 0; k < count; k++) times.push_back(start + k * step);
    return times;
}

static OObject poly(OObject parent, const std::string &name, TimeSamplingPtr sampling, double at, double speed,
                    const std::vector<double> &times)
{
    OXform group(parent, name);
    OPolyMesh mesh(group, name + "Shape", sampling);
    fill<OPolyMesh, OPolyMeshSchema::Sample>(mesh, at, speed, times);
    return group;
}

int main(int argc, char **argv)
{
    std::string folder = argc > 1 ? argv[1] : ".";
    const double f = 1.0 / 24;
    const auto ogawa = Alembic::AbcCoreOgawa::WriteArchive();
    { /* three samples a frame, frames 1 to 6 */
        OArchive archive(ogawa, folder + "/library-cyclic.abc");
        std::vector<chrono_t> cycle = {0.75 * f, f, 1.25 * f};
        TimeSamplingPtr sampling(new TimeSampling(TimeSamplingType(3, f), cycle));
        std::vector<double> times;
        for (int k = 0; k < 18; k++) times.push_back(cycle[k % 3] + k / 3 * f);
        poly(archive.getTop(), "body", sampling, 0, 1, times);
    }
    { /* every time stored: frames 1, 2, 3, 3.5, 6, 7 */
        OArchive archive(ogawa, folder + "/library-acyclic.abc");
        std::vector<chrono_t> times = {f, 2 * f, 3 * f, 3.5 * f, 6 * f, 7 * f};
        TimeSamplingPtr sampling(new TimeSampling(TimeSamplingType(TimeSamplingType::kAcyclic), times));
        poly(archive.getTop(), "body", sampling, 0, 1, times);
    }
    { /* objects that differ in kind, rate, range, visibility and place */
        OArchive archive(ogawa, folder + "/library-scene.abc");
        TimeSamplingPtr film(new TimeSampling(f, f)), half(new TimeSampling(2 * f, 3 * f)),
            odd(new TimeSampling(1.0 / 25, 0.0));
        OObject top = archive.getTop();
        OObject body = poly(top, "body", film, 0, 1, even(f, f, 8));
        { /* every second frame from 3 to 7 */
            OXform group(top, "cap");
            OSubD mesh(group, "capShape", half);
            fill<OSubD, OSubDSchema::Sample>(mesh, 3, 2, even(3 * f, 2 * f, 3));
        }
        { /* hidden by what it hangs under */
            OXform group(top, "ghost");
            CreateVisibilityProperty(group, film).set(int8_t(kVisibilityHidden));
            OPolyMesh mesh(group, "ghostShape", odd);
            fill<OPolyMesh, OPolyMeshSchema::Sample>(mesh, 50, 1, even(0, 1.0 / 25, 30));
        }
        { /* hidden at some frames */
            OXform group(top, "blink");
            OPolyMesh mesh(group, "blinkShape", film);
            fill<OPolyMesh, OPolyMeshSchema::Sample>(mesh, 6, 0, {f});
            OVisibilityProperty visible = CreateVisibilityProperty(mesh, film);
            for (int k = 0; k < 8; k++) visible.set(int8_t(k % 2 ? kVisibilityHidden : kVisibilityDeferred));
        }
        OXform mirror(top, "mirror");
        {
            XformSample sample;
            sample.setTranslation(V3d(-3, 0, 0));
            sample.setScale(V3d(-1, 1, 1));
            mirror.getSchema().set(sample);
            OPolyMesh mesh(mirror, "mirrorShape", film);
            fill<OPolyMesh, OPolyMeshSchema::Sample>(mesh, 0, 1, even(f, f, 8));
        }
        OXform copies(top, "copies");
        {
            XformSample sample;
            sample.setTranslation(V3d(0, 5, 0));
            copies.getSchema().set(sample);
            copies.addChildInstance(body, "again"); /* of a group */
            copies.addChildInstance(mirror, "other");
        }
        { /* curves are no mesh */
            OCurves hair(top, "hair");
            std::vector<V3f> p = {V3f(0, 0, 0), V3f(0, 1, 0)};
            std::vector<int32_t> n = {2};
            hair.getSchema().set(OCurvesSchema::Sample(P3fArraySample(p), Int32ArraySample(n)));
        }
    }
    { /* a box that does not change under transforms that do, from frame 1001 on */
        OArchive archive(ogawa, folder + "/library-carried.abc");
        TimeSamplingPtr film(new TimeSampling(f, 1001 * f));
        OXform outer(archive.getTop(), "outer", film), inner(outer, "box", film);
        for (int k = 0; k < 5; k++) {
            XformSample a, b;
            a.setTranslation(V3d(0.5 * k, 0, 0));
            outer.getSchema().set(a);
            b.setYRotation(10.0 * k);
            inner.getSchema().set(b);
        }
        OPolyMesh mesh(inner, "boxShape");
        fill<OPolyMesh, OPolyMeshSchema::Sample>(mesh, 0, 0, {0.0});
    }
    { /* groups, of which one is scaled and one turns; face sets, colours, texture coordinates by another name */
        OArchive archive(ogawa, folder + "/library-looks.abc");
        TimeSamplingPtr film(new TimeSampling(f, f));
        OXform grp(archive.getTop(), "grp"), ctl(grp, "ctl"), off(ctl, "off"), spin(grp, "spin", film);
        XformSample place;
        place.setTranslation(V3d(10, 0, 0));
        place.setScale(V3d(2, 2, 2));
        grp.getSchema().set(place);
        XformSample lift;
        lift.setTranslation(V3d(0, 5, 0));
        off.getSchema().set(lift);
        for (int k = 0; k < 4; k++) {
            XformSample turn;
            turn.setYRotation(10.0 * k);
            spin.getSchema().set(turn);
        }
        OPolyMesh body(off, "body", film);
        fill<OPolyMesh, OPolyMeshSchema::Sample>(body, 0, 1, even(f, f, 4));
        const struct { const char *name; std::vector<int32_t> faces; bool alone; } sets[] = {
            {"skinSG", {0, 1, 2}, true}, {"nailSG", {3, 5}, true}, {"front", {4, 4}, false},
            {"wide", {1, 3, 4}, false}};
        for (const auto &s : sets) {
            OFaceSet &set = body.getSchema().createFaceSet(s.name);
            set.getSchema().set(OFaceSetSchema::Sample(Int32ArraySample(s.faces)));
            if (s.alone) set.getSchema().setFaceExclusivity(kFaceSetExclusive);
        }
        { /* a colour a corner, each point the same at all of its corners; indexed */
            std::vector<C4f> values;
            std::vector<Alembic::Util::uint32_t> indices;
            for (int c = 0; c < 8; c++) values.push_back(C4f(c / 8.0f, 1 - c / 8.0f, 0.5f, c < 4 ? 1.0f : 0.25f));
            for (int k = 0; k < 24; k++) indices.push_back(uint32_t(corners[k]));
            OC4fGeomParam color(body.getSchema().getArbGeomParams(), "paint", true, kFacevaryingScope, 1);
            color.set(OC4fGeomParam::Sample(C4fArraySample(values), UInt32ArraySample(indices), kFacevaryingScope));
            std::vector<V2f> st;
            for (int c = 0; c < 8; c++) st.push_back(V2f(c / 8.0f, 1.0f));
            OV2fGeomParam uv(body.getSchema().getArbGeomParams(), "st", false, kVertexScope, 1);
            uv.set(OV2fGeomParam::Sample(V2fArraySample(st), kVertexScope));
        }
        OSubD prop(spin, "prop", film);
        fill<OSubD, OSubDSchema::Sample>(prop, 6, 0, even(f, f, 4));
        const int32_t counts_up[] = {0, 1, 2, 3, 4, 5};
        OFaceSet &set = prop.getSchema().createFaceSet("skinSG");
        set.getSchema().set(OFaceSetSchema::Sample(Int32ArraySample(counts_up, 6)));
    }
    return 0;
}
