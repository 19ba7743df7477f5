// The skin's material, and the same light worked out a vertex instead of a pixel: a third of the cost where a processor draws the pixels.
import * as THREE from 'three';

const ROUGHNESS = 0.75, REFLECTANCE = 0.04;   // at right angles, of what is no metal, as MeshStandardMaterial has it

export function pixelLit(side) {
    return new THREE.MeshStandardMaterial({ vertexColors: true, roughness: ROUGHNESS, metalness: 0, side });
}

// Lambert and GGX with Smith's correlated visibility, sky and one sun, written out as the screen wants it (sRGB).
export function vertexLit(side) {
    return new THREE.ShaderMaterial({
        vertexColors: true, lights: true, side, uniforms: { ...THREE.UniformsUtils.clone(THREE.UniformsLib.lights), opacity: { value: 1 } },
        vertexShader: `
            #include <common>
            #include <lights_pars_begin>
            varying vec3 lit[2];
            vec3 shade(vec3 n, vec3 v) {
                vec3 l = directionalLights[0].direction, sun = directionalLights[0].color, h = normalize(l + v);
                float nl = saturate(dot(n, l)), nv = saturate(dot(n, v)), nh = saturate(dot(n, h)), vh = saturate(dot(v, h));
                const float a2 = ${(ROUGHNESS ** 4).toFixed(6)};
                float bell = nh * nh * (a2 - 1.0) + 1.0, visible = 0.5 / max(nl * sqrt(a2 + (1.0 - a2) * nv * nv) + nv * sqrt(a2 + (1.0 - a2) * nl * nl), EPSILON);
                float shine = RECIPROCAL_PI * a2 / (bell * bell) * visible * mix(${REFLECTANCE}, 1.0, pow(1.0 - vh, 5.0));
                vec3 c = color * RECIPROCAL_PI * (getHemisphereLightIrradiance(hemisphereLights[0], n) + nl * sun) + nl * sun * shine;
                return mix(1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, 12.92 * c, vec3(lessThanEqual(c, vec3(0.0031308))));
            }
            void main() {
                vec4 at = modelViewMatrix * vec4(position, 1.0);
                vec3 n = normalize(normalMatrix * normal), v = normalize(-at.xyz);
                lit[0] = shade(n, v);
                lit[1] = ${side === THREE.DoubleSide ? 'shade(-n, v)' : 'lit[0]'};
                gl_Position = projectionMatrix * at;
            }`,
        fragmentShader: `
            uniform float opacity;
            varying vec3 lit[2];
            void main() { gl_FragColor = vec4(${side === THREE.DoubleSide ? 'gl_FrontFacing ? lit[0] : lit[1]' : 'lit[0]'}, opacity); }`,
    });
}
