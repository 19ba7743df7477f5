/* Prints what Alembic's own library reads of a cache as JSON, for scripts/check-formats: a list of polygon meshes with
 * name, times (s), points in the world at every sample, counts, indices, uv and normals (of the first sample) a corner.
 * No part of the build; where the library is installed: c++ -o read_alembic tests/read_alembic.cpp -lAlembic -lImath */
#include <Alembic/AbcCoreOgawa/All.h>
#include <Alembic/AbcGeom/All.h>

#include <cstdio>

using namespace Alembic::AbcGeom;

static bool first = true;

static M44d world_at(IObject object, double time)
{
    M44d world;
    for (; object.valid(); object = object.getParent())
        if (IXform::matches(object.getHeader()))
            world = world * IXform(object, kWrapExisting).getSchema().getValue(ISampleSelector(time)).getMatrix();
    return world;
}

template <class Param> static void print_corners(const char *name, Param param, int width)
{
    if (!param.valid()) return;
    auto sample = param.getExpandedValue();
    auto values = sample.getVals();
    std::printf(",\n \"%s\": [", name);
    for (size_t i = 0; i < values->size(); i++)
        for (int k = 0; k < width; k++) std::printf("%s%.9g", i || k ? "," : "", (double)(*values)[i][k]);
    std::printf("]");
}

static void print_mesh(IPolyMesh object)
{
    IPolyMeshSchema mesh = object.getSchema();
    std::printf("%s{\"name\": \"%s\", \"times\": [", first ? "" : ",\n", object.getParent().getName().c_str());
    first = false;
    size_t samples = mesh.getNumSamples();
    for (size_t k = 0; k < samples; k++)
        std::printf("%s%.17g", k ? "," : "", mesh.getTimeSampling()->getSampleTime((index_t)k));
    std::printf("],\n \"points\": [");
    for (size_t k = 0; k < samples; k++) {
        IPolyMeshSchema::Sample sample = mesh.getValue(ISampleSelector((index_t)k));
        M44d world = world_at(object, mesh.getTimeSampling()->getSampleTime((index_t)k));
        std::printf("%s[", k ? "," : "");
        for (size_t i = 0; i < sample.getPositions()->size(); i++) {
            V3d at;
            world.multVecMatrix(V3d((*sample.getPositions())[i]), at);
            std::printf("%s%.17g,%.17g,%.17g", i ? "," : "", at.x, at.y, at.z);
        }
        std::printf("]");
    }
    IPolyMeshSchema::Sample sample = mesh.getValue(ISampleSelector((index_t)0));
    std::printf("],\n \"counts\": [");
    for (size_t i = 0; i < sample.getFaceCounts()->size(); i++)
        std::printf("%s%d", i ? "," : "", (*sample.getFaceCounts())[i]);
    std::printf("],\n \"indices\": [");
    for (size_t i = 0; i < sample.getFaceIndices()->size(); i++)
        std::printf("%s%d", i ? "," : "", (*sample.getFaceIndices())[i]);
    std::printf("]");
    print_corners("uv", mesh.getUVsParam(), 2);
    print_corners("normals", mesh.getNormalsParam(), 3);
    std::printf("}");
}

static void visit(IObject object)
{
    if (IPolyMesh::matches(object.getHeader())) print_mesh(IPolyMesh(object, kWrapExisting));
    for (size_t i = 0; i < object.getNumChildren(); i++) visit(object.getChild(i));
}

int main(int argc, char **argv)
{
    if (argc == 1) std::printf("%s\n", Alembic::AbcCoreAbstract::GetLibraryVersionShort().c_str());
    if (argc != 2) return argc > 2;
    IArchive archive(Alembic::AbcCoreOgawa::ReadArchive(), argv[1]);
    std::printf("[");
    visit(archive.getTop());
    std::printf("]\n");
    return 0;
}
