#include "io/scene/draco_mesh.h"

#include <cstdio>
#include <draco/compression/decode.h>
#include <memory>

struct su_draco_mesh {
    std::unique_ptr<draco::Mesh> mesh;
};

/* libdraco throws where memory ends, and at sizes in broken files that no memory has. */
su_draco_mesh *su_draco_mesh_unpack(const unsigned char *data, size_t bytes, char *why, size_t size)
{
    why[0] = '\0';
    try {
        draco::DecoderBuffer buffer;
        draco::Decoder decoder;
        buffer.Init(reinterpret_cast<const char *>(data), bytes);
        auto result = decoder.DecodeMeshFromBuffer(&buffer);
        if (result.ok()) return new su_draco_mesh{std::move(result).value()};
        snprintf(why, size, "%s", result.status().error_msg());
    } catch (const std::bad_alloc &) {
    } catch (const std::exception &e) {
        snprintf(why, size, "%s", e.what());
    }
    return nullptr;
}

void su_draco_mesh_free(su_draco_mesh *mesh) { delete mesh; }

int64_t su_draco_mesh_points(const su_draco_mesh *mesh) { return mesh->mesh->num_points(); }

int64_t su_draco_mesh_faces(const su_draco_mesh *mesh) { return mesh->mesh->num_faces(); }

void su_draco_mesh_corners(const su_draco_mesh *mesh, double *out)
{
    for (uint32_t f = 0; f < mesh->mesh->num_faces(); f++)
        for (int k = 0; k < 3; k++) *out++ = mesh->mesh->face(draco::FaceIndex(f))[k].value();
}

/* Of integers the value is asked for as an integer: as a float it would come normalized where the encoder said so. */
template <typename number>
static bool copy(const draco::PointAttribute &from, uint32_t points, int8_t width, double *out)
{
    for (uint32_t i = 0; i < points; i++) {
        number value[4];
        const draco::AttributeValueIndex at = from.mapped_index(draco::PointIndex(i));
        if (at.value() >= from.size() || !from.ConvertValue<number>(at, width, value)) return false;
        for (int k = 0; k < width; k++) *out++ = static_cast<double>(value[k]);
    }
    return true;
}

bool su_draco_mesh_attribute(const su_draco_mesh *mesh, int64_t id, int64_t width, double *out, bool *whole)
{
    if (id < 0 || id > UINT32_MAX || width < 1 || width > 4) return false;
    const draco::PointAttribute *from = mesh->mesh->GetAttributeByUniqueId(static_cast<uint32_t>(id));
    if (!from || from->num_components() < width) return false;
    const uint32_t points = mesh->mesh->num_points();
    const int8_t components = static_cast<int8_t>(width);
    *whole = from->data_type() != draco::DT_FLOAT32 && from->data_type() != draco::DT_FLOAT64;
    return *whole ? copy<int64_t>(*from, points, components, out) : copy<double>(*from, points, components, out);
}
