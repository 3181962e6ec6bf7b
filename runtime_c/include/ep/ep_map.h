/* SPDX-License-Identifier: Apache-2.0 */
/** Element-wise operators: y[i] = fn(x0[i], x1[i], ...) over strided, broadcast operands.
 *
 *  The generated code passes one always-inlined function per fused chain; the descriptor is a literal, so loops, strides and
 *  broadcasts fold.  Made in packager/ops/elementwise.py, which has collapsed neighbouring axes and checked the limits:
 *  1 <= rank <= EP_MAP_RANK, inputs <= EP_MAP_INPUTS.
 *
 *  [begin, end) ranges over axis 0; where rank is 1, over pieces of EP_MAP_GRAIN elements (the last one may be shorter).
 *  y may be the same memory as an input of the same strides; any other overlap is not allowed.
 *
 *  ep_map_f32: everything is float32.  Strides are in elements; on the innermost axis y has stride 1 and every input 0 or 1.
 *      EP_INLINE ep_f32v NAME(const ep_f32v *x)
 *      {
 *          const ep_f32v x0 = x[0];
 *          const ep_f32v t0 = ep_tanh_f32v(x0);
 *          return t0;
 *      }
 *  ep_map_any: any mix of types, one element at a time.  Strides are in bytes, any value.
 *      EP_INLINE void NAME(void *y, const void *const *x)
 *      {
 *          const ep_elem_i32 x0 = *(const ep_elem_i32 *)x[0];
 *          const ep_elem_f32 t0 = (float)x0;
 *          *(ep_elem_f32 *)y = t0;
 *      }
 */
#ifndef EP_MAP_H
#define EP_MAP_H

#include "ep_cast.h"
#include "ep_int.h"
#include "ep_math.h"
#include "ep_vec.h"

#define EP_MAP_RANK 8
#define EP_MAP_INPUTS 16
#define EP_MAP_GRAIN 2048
#define EP_MAP_UNROLL 2

typedef struct ep_map_desc {
    int rank;
    int inputs;
    ptrdiff_t extent[EP_MAP_RANK];
    ptrdiff_t y[EP_MAP_RANK];                /* strides of the output ... */
    ptrdiff_t x[EP_MAP_INPUTS][EP_MAP_RANK]; /* ... and of each input, 0 where it is broadcast */
} ep_map_desc;

typedef ep_f32v (*ep_map_f32_fn)(const ep_f32v *x);
typedef void (*ep_map_any_fn)(void *y, const void *const *x);

/* tensors of every type share the arena: element types that may alias, which the printed loads and stores go through */
typedef float ep_elem_f32 __attribute__((may_alias));
typedef double ep_elem_f64 __attribute__((may_alias));
typedef int8_t ep_elem_i8 __attribute__((may_alias));
typedef int16_t ep_elem_i16 __attribute__((may_alias));
typedef int32_t ep_elem_i32 __attribute__((may_alias));
typedef int64_t ep_elem_i64 __attribute__((may_alias));
typedef uint8_t ep_elem_u8 __attribute__((may_alias));
typedef uint16_t ep_elem_u16 __attribute__((may_alias));
typedef uint32_t ep_elem_u32 __attribute__((may_alias));
typedef uint64_t ep_elem_u64 __attribute__((may_alias));

/* a run of vectors: where each operand is and how far it steps from one vector to the next */
typedef struct {
    float *y;
    ptrdiff_t y_step;
    const float *x[EP_MAP_INPUTS];
    ptrdiff_t x_step[EP_MAP_INPUTS];
    int broadcast[EP_MAP_INPUTS]; /* one element for all lanes */
    int inputs;
} ep_map_run;

/* input k of vector i */
EP_INLINE ep_f32v ep_map_fetch(const ep_map_run *run, int k, ptrdiff_t i)
{
    const float *at = run->x[k] + i * run->x_step[k];
    return run->broadcast[k] ? ep_splat_f32v(ep_load_f32(at)) : ep_load_f32v(at);
}

/* `count` whole vectors; inputs that do not step are read once, before the loop (stores could alias them) */
EP_INLINE void ep_map_f32_vectors(const ep_map_run *run, ep_map_f32_fn fn, ptrdiff_t count)
{
    ep_f32v x[EP_MAP_UNROLL][EP_MAP_INPUTS];
    if (count <= 0) {
        return;
    }
    EP_UNROLL
    for (int k = 0; k < EP_MAP_INPUTS; k++) {
        if (k < run->inputs && run->x_step[k] == 0) {
            EP_UNROLL
            for (int u = 0; u < EP_MAP_UNROLL; u++) {
                x[u][k] = ep_map_fetch(run, k, 0);
            }
        }
    }
    ptrdiff_t i = 0;
    for (; i + EP_MAP_UNROLL <= count; i += EP_MAP_UNROLL) {
        ep_f32v y[EP_MAP_UNROLL];
        EP_UNROLL
        for (int u = 0; u < EP_MAP_UNROLL; u++) {
            EP_UNROLL
            for (int k = 0; k < EP_MAP_INPUTS; k++) {
                if (k < run->inputs && run->x_step[k] != 0) {
                    x[u][k] = ep_map_fetch(run, k, i + u);
                }
            }
            y[u] = fn(x[u]);
        }
        EP_UNROLL
        for (int u = 0; u < EP_MAP_UNROLL; u++) {
            ep_store_f32v(run->y + (i + u) * run->y_step, y[u]);
        }
    }
    for (int rest = 0; rest < EP_MAP_UNROLL - 1 && i < count; rest++, i++) {
        EP_UNROLL
        for (int k = 0; k < EP_MAP_INPUTS; k++) {
            if (k < run->inputs && run->x_step[k] != 0) {
                x[0][k] = ep_map_fetch(run, k, i);
            }
        }
        ep_store_f32v(run->y + i * run->y_step, fn(x[0]));
    }
}

/* the last n < EP_F32_LANES elements behind `count` whole vectors: computed on padded vectors */
EP_INLINE void ep_map_f32_tail(const ep_map_run *run, ep_map_f32_fn fn, ptrdiff_t count, ptrdiff_t n)
{
    ep_f32v x[EP_MAP_INPUTS];
    EP_UNROLL
    for (int k = 0; k < EP_MAP_INPUTS; k++) {
        if (k < run->inputs) {
            const float *at = run->x[k] + count * run->x_step[k];
            x[k] = run->broadcast[k] ? ep_splat_f32v(ep_load_f32(at)) : ep_load_part_f32v(at, n);
        }
    }
    ep_store_part_f32v(run->y + count * run->y_step, fn(x), n);
}

/* Elements [first, last) of the innermost axis at run's pointers.  `across`: the innermost axis is one vector wide and the
 * vectors run over the axis before it, so that what is constant there (a channel's bias) stays in registers. */
EP_INLINE void ep_map_f32_inner(ep_map_run *run, ep_map_f32_fn fn, const ep_map_desc *d, int across, ptrdiff_t first,
                                ptrdiff_t last)
{
    const int inner = d->rank - 1;
    const int step_axis = across ? inner - 1 : inner;
    run->y_step = across ? d->y[step_axis] : EP_F32_LANES;
    run->y += first * d->y[step_axis];
    run->inputs = d->inputs;
    EP_UNROLL
    for (int k = 0; k < EP_MAP_INPUTS; k++) {
        if (k < d->inputs) {
            run->broadcast[k] = d->x[k][inner] == 0;
            run->x_step[k] = across ? d->x[k][step_axis] : d->x[k][inner] * EP_F32_LANES;
            run->x[k] += first * d->x[k][step_axis];
        }
    }
    const ptrdiff_t elements = last - first;
    const ptrdiff_t vectors = across ? elements : elements / EP_F32_LANES;
    const ptrdiff_t rest = across ? 0 : elements % EP_F32_LANES;
    ep_map_f32_vectors(run, fn, vectors);
    if (rest > 0) {
        ep_map_f32_tail(run, fn, vectors, rest);
    }
}

/* Index of position `at` on axes [1, axes) of the row-major space of extents d->extent: the sum of index * stride */
EP_INLINE ptrdiff_t ep_map_offset(const ptrdiff_t *stride, const ep_map_desc *d, int axes, ptrdiff_t at)
{
    ptrdiff_t offset = 0;
    EP_UNROLL
    for (int axis = EP_MAP_RANK - 1; axis >= 1; axis--) {
        if (axis < axes) {
            const ptrdiff_t index = axis == 1 ? at : at % d->extent[axis];
            offset += index * stride[axis];
            at /= axis == 1 ? 1 : d->extent[axis];
        }
    }
    return offset;
}

/* how often the axes [1, axes) run */
EP_INLINE ptrdiff_t ep_map_count(const ep_map_desc *d, int axes)
{
    ptrdiff_t count = 1;
    EP_UNROLL
    for (int axis = 1; axis < EP_MAP_RANK; axis++) {
        count *= axis < axes ? d->extent[axis] : 1;
    }
    return count;
}

EP_INLINE void ep_map_f32(float *y, const void *const *x, ep_map_f32_fn fn, const ep_map_desc d, ptrdiff_t begin,
                          ptrdiff_t end)
{
    const int across = EP_F32_LANES > 1 && d.rank > 1 && d.extent[d.rank - 1] == EP_F32_LANES;
    const int inner_axes = across ? 2 : 1;
    const int outer =
        d.rank - inner_axes; /* axes outside the inner run; when there are none, it takes the range itself */
    const ptrdiff_t grain = d.rank == 1 ? EP_MAP_GRAIN : 1;
    const ptrdiff_t length = d.extent[outer];
    const ptrdiff_t rows = outer == 0 ? 1 : end - begin;
    const ptrdiff_t first = outer == 0 ? begin * grain : 0;
    const ptrdiff_t last = outer == 0 && end * grain < length ? end * grain : length;
    const ptrdiff_t repeats = ep_map_count(&d, outer);
    for (ptrdiff_t row = 0; row < rows; row++) {
        const ptrdiff_t position = outer == 0 ? 0 : begin + row;
        for (ptrdiff_t at = 0; at < repeats; at++) {
            ep_map_run run;
            run.y = y + position * d.y[0] + ep_map_offset(d.y, &d, outer, at);
            EP_UNROLL
            for (int k = 0; k < EP_MAP_INPUTS; k++) {
                if (k < d.inputs) {
                    run.x[k] = (const float *)x[k] + position * d.x[k][0] + ep_map_offset(d.x[k], &d, outer, at);
                }
            }
            ep_map_f32_inner(&run, fn, &d, across, first, last);
        }
    }
}

EP_INLINE void ep_map_any(void *y, const void *const *x, ep_map_any_fn fn, const ep_map_desc d, ptrdiff_t begin,
                          ptrdiff_t end)
{
    const int inner = d.rank - 1;
    const ptrdiff_t grain = d.rank == 1 ? EP_MAP_GRAIN : 1;
    const ptrdiff_t rows = inner == 0 ? 1 : end - begin;
    const ptrdiff_t first = inner == 0 ? begin * grain : 0;
    const ptrdiff_t last = inner == 0 && end * grain < d.extent[0] ? end * grain : d.extent[inner];
    const ptrdiff_t repeats = ep_map_count(&d, inner);
    for (ptrdiff_t row = 0; row < rows; row++) {
        const ptrdiff_t position = inner == 0 ? 0 : begin + row;
        for (ptrdiff_t at = 0; at < repeats; at++) {
            uint8_t *to = (uint8_t *)y + position * d.y[0] + ep_map_offset(d.y, &d, inner, at);
            const uint8_t *from[EP_MAP_INPUTS];
            EP_UNROLL
            for (int k = 0; k < EP_MAP_INPUTS; k++) {
                if (k < d.inputs) {
                    from[k] = (const uint8_t *)x[k] + position * d.x[k][0] + ep_map_offset(d.x[k], &d, inner, at);
                }
            }
            for (ptrdiff_t i = first; i < last; i++) {
                const void *element[EP_MAP_INPUTS];
                EP_UNROLL
                for (int k = 0; k < EP_MAP_INPUTS; k++) {
                    if (k < d.inputs) {
                        element[k] = from[k] + i * d.x[k][inner];
                    }
                }
                fn(to + i * d.y[inner], element);
            }
        }
    }
}

#endif
