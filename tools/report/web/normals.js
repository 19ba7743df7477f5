// Normals, weighted by area, of all triangles t, whichever are drawn. Every frame makes them: plain loops over typed arrays take a tenth of computeVertexNormals.
export function setNormals(geometry, t) {
    const x = geometry.attributes.position.array, n = geometry.attributes.normal.array;
    n.fill(0);
    for (let i = 0; i < t.length; i += 3) {
        const a = 3 * t[i], b = 3 * t[i + 1], c = 3 * t[i + 2], ax = x[a], ay = x[a + 1], az = x[a + 2];
        const ux = x[b] - ax, uy = x[b + 1] - ay, uz = x[b + 2] - az, vx = x[c] - ax, vy = x[c + 1] - ay, vz = x[c + 2] - az;
        const px = uy * vz - uz * vy, py = uz * vx - ux * vz, pz = ux * vy - uy * vx;
        n[a] += px, n[a + 1] += py, n[a + 2] += pz, n[b] += px, n[b + 1] += py, n[b + 2] += pz, n[c] += px, n[c + 1] += py, n[c + 2] += pz;
    }
    for (let i = 0; i < n.length; i += 3) {
        const length = Math.sqrt(n[i] * n[i] + n[i + 1] * n[i + 1] + n[i + 2] * n[i + 2]) || 1;
        n[i] /= length, n[i + 1] /= length, n[i + 2] /= length;
    }
    geometry.attributes.normal.needsUpdate = true;
}
