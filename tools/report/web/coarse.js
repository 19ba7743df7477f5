/* Fewer triangles over the same vertices, for frames that come too slowly: edges are collapsed onto one of their ends, where the planes of the triangles so far are left by
   least (quadrics of Garland and Heckbert 1997; what is flat, and of one colour, goes first). Open edges stay. */
const ONTO = 10, FLIP = 0.3;   // numbers of a quadric; least cosine between a triangle's normals before and behind
const NEAR = 1e-6;             // of a ray that leaves along an edge
const COLOUR = 0.05;           // of the size: what a step of colour by one counts as

// triangles: (3 t) indices; x: (3 n) places; colours: (3 n), 0 to 255, or null; size: of all; error: root mean square distance from the planes that are gone, at most. A new Uint32Array.
export function coarser(triangles, x, colours, size, error) {
    const n = x.length / 3, q = new Float64Array(ONTO * n), area = new Float64Array(n), normal = [0, 0, 0];
    let t = Uint32Array.from(triangles), count = t.length / 3;
    const cross = (a, b, c) => {   // at 3 a, ...: the normal, as long as twice the area
        const ux = x[b] - x[a], uy = x[b + 1] - x[a + 1], uz = x[b + 2] - x[a + 2], vx = x[c] - x[a], vy = x[c + 1] - x[a + 1], vz = x[c + 2] - x[a + 2];
        normal[0] = uy * vz - uz * vy, normal[1] = uz * vx - ux * vz, normal[2] = ux * vy - uy * vx;
        return Math.sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    };
    for (let i = 0; i < t.length; i += 3) {
        const twice = cross(3 * t[i], 3 * t[i + 1], 3 * t[i + 2]);
        if (!twice) continue;
        const [a, b, c] = normal.map((u) => u / twice), at = 3 * t[i], d = -(a * x[at] + b * x[at + 1] + c * x[at + 2]);
        const plane = [a * a, a * b, a * c, a * d, b * b, b * c, b * d, c * c, c * d, d * d];
        for (let k = 0; k < 3; k++) {
            const v = t[i + k];
            area[v] += twice;
            for (let e = 0; e < ONTO; e++) q[ONTO * v + e] += twice * plane[e];
        }
    }
    // the mean square distance of w's place from the planes of v and w
    const cost = (v, w) => {
        const a = x[3 * w], b = x[3 * w + 1], c = x[3 * w + 2], m = ONTO * v, o = ONTO * w, s = (e) => q[m + e] + q[o + e];
        let sum = (s(0) * a * a + s(4) * b * b + s(7) * c * c + 2 * (s(1) * a * b + s(2) * a * c + s(5) * b * c + s(3) * a + s(6) * b + s(8) * c) + s(9)) / (area[v] + area[w]);
        return sum;
    };
    const start = new Int32Array(n + 1), to = new Int32Array(n), least = new Float64Array(n), touched = new Uint8Array(n), times = new Uint16Array(n), near = [], across = [];
    for (;;) {
        const around = new Int32Array(3 * count), fill = new Int32Array(n);
        start.fill(0), touched.fill(0), to.fill(-1);
        for (let i = 0; i < 3 * count; i++) start[t[i] + 1]++;
        for (let v = 0; v < n; v++) fill[v] = start[v], start[v + 1] += start[v];
        for (let i = 0; i < 3 * count; i++) around[fill[t[i]]++] = Math.floor(i / 3);
        // the neighbours of v into `near`, and how many; 0: open, or more than two triangles on an edge
        const ring = (v, near) => {
            let m = 0;
            for (let k = start[v]; k < start[v + 1]; k++)
                for (let j = 3 * around[k]; j < 3 * around[k] + 3; j++) {
                    const w = t[j];
                    if (w !== v && times[w]++ === 0) near[m++] = w;
                }
            let whole = m;
            for (let k = 0; k < m; k++) { if (times[near[k]] !== 2) whole = 0; times[near[k]] = 0; }
            near.length = m;
            return whole;
        };
        // what the colour at v is off where its ring is drawn from w: it lies in the triangle of w and those two through which one leaves the ring, seen from w
        const paint = (v, w) => {
            const i = 3 * v, dx = x[i] - x[3 * w], dy = x[i + 1] - x[3 * w + 1], dz = x[i + 2] - x[3 * w + 2];
            let p = w, q = w, m = 0, o = 0, sum = 0;
            for (let k = start[v]; k < start[v + 1]; k++) {
                const j = 3 * around[k], at = t[j] === v ? 0 : t[j + 1] === v ? 1 : 2, b = t[j + (at + 1) % 3], c = t[j + (at + 2) % 3];
                if (b === w || c === w) continue;
                const bx = x[3 * b] - x[i], by = x[3 * b + 1] - x[i + 1], bz = x[3 * b + 2] - x[i + 2], cx = x[3 * c] - x[i], cy = x[3 * c + 1] - x[i + 1], cz = x[3 * c + 2] - x[i + 2];
                const bb = bx * bx + by * by + bz * bz, bc = bx * cx + by * cy + bz * cz, cc = cx * cx + cy * cy + cz * cz, det = bb * cc - bc * bc;
                const db = dx * bx + dy * by + dz * bz, dc = dx * cx + dy * cy + dz * cz, beta = (db * cc - dc * bc) / det, gamma = (dc * bb - db * bc) / det;
                if (beta >= -NEAR && gamma >= -NEAR && beta + gamma > m + o) p = b, q = c, m = beta, o = gamma;   // NaN of a triangle without area is none
            }
            for (let k = 0; k < 3; k++) sum += ((1 + m + o) * colours[i + k] - colours[3 * w + k] - m * colours[3 * p + k] - o * colours[3 * q + k]) ** 2;
            return sum * (COLOUR * size / 255 / (1 + m + o)) ** 2;
        };
        const order = [];
        for (let v = 0; v < n; v++) {
            if (start[v] === start[v + 1]) continue;
            if (!ring(v, near)) continue;
            least[v] = Infinity;
            for (const w of near) { const e = cost(v, w) + (colours ? paint(v, w) : 0); if (e < least[v]) least[v] = e, to[v] = w; }
            if (least[v] < error * error) order.push(v);
        }
        order.sort((a, b) => least[a] - least[b]);
        const gone = new Int32Array(n).fill(-1), onto = (v) => gone[v] < 0 ? v : gone[v];
        let left = count;
        for (const v of order.slice(0, Math.max(1, order.length >> 1))) {   // the better half: the rest gets its say with new neighbours
            const w = to[v];
            if (touched[v]) continue;
            ring(v, near), ring(w, across);
            if (near.some((u) => touched[u]) || across.filter((u) => near.includes(u)).length !== 2) continue;
            let flips = false;
            for (let k = start[v]; k < start[v + 1] && !flips; k++) {
                const i = 3 * around[k], a = t[i], b = t[i + 1], c = t[i + 2];
                if (a === w || b === w || c === w) continue;
                const before = cross(3 * a, 3 * b, 3 * c), [p, r, s] = normal, behind = cross(3 * (a === v ? w : a), 3 * (b === v ? w : b), 3 * (c === v ? w : c));
                flips = p * normal[0] + r * normal[1] + s * normal[2] < FLIP * before * behind;
            }
            if (flips) continue;
            gone[v] = w, left -= 2, touched[v] = 1;
            for (const u of near) touched[u] = 1;
            for (let e = 0; e < ONTO; e++) q[ONTO * w + e] += q[ONTO * v + e];
            area[w] += area[v];
        }
        if (left === count) break;
        let kept = 0;
        for (let i = 0; i < 3 * count; i += 3) {
            const a = onto(t[i]), b = onto(t[i + 1]), c = onto(t[i + 2]);
            if (a !== b && b !== c && c !== a) t[kept] = a, t[kept + 1] = b, t[kept + 2] = c, kept += 3;
        }
        count = kept / 3;
    }
    return t.slice(0, 3 * count);
}
