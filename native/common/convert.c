#include "convert.h"

#include <string.h>

#ifdef TX_LIBYUV
#include <libyuv.h>
#endif

enum { PIXEL = 4, OPAQUE = 255 };

/* ---- scaling ---- */

/* floor(x * source / surface) for one x after another, without a division for each. `rest` is what the floor left, in surface-ths. */
typedef struct {
    int32_t at, rest, source, surface;
} steps;

static steps steps_from(int32_t x, int32_t source, int32_t surface) {
    int64_t product = (int64_t)x * source;
    return (steps){(int32_t)(product / surface), (int32_t)(product % surface), source, surface};
}

/* A surface is never larger than its source by more than the odd pixel that it lost, so the loop turns about source / surface times. */
static inline void step(steps *s) {
    s->rest += s->source;
    while (s->rest >= s->surface) {
        s->rest -= s->surface;
        s->at++;
    }
}

static inline int32_t ceiling(const steps *s) { return s->at + (s->rest != 0); }

void tx_scale_bgrx(const uint8_t *source, int32_t width, int32_t height, int32_t stride, int32_t surface_width, int32_t surface_height, tx_box box,
                   uint8_t *out) {
    int32_t same = width == surface_width && height == surface_height;
    steps down = steps_from(box.y, height, surface_height);
    for (int32_t row = 0; row < box.height; row++, step(&down)) {
        const uint8_t *line = source + (int64_t)down.at * stride;
        if (same) {
            memcpy(out, line + (int64_t)box.x * PIXEL, (size_t)box.width * PIXEL);
            out += (int64_t)box.width * PIXEL;
            continue;
        }
        steps across = steps_from(box.x, width, surface_width);
        for (int32_t column = 0; column < box.width; column++, step(&across)) {
            memcpy(out, line + (int64_t)across.at * PIXEL, PIXEL);
            out[3] = OPAQUE;
            out += PIXEL;
        }
    }
}

/* Exact division by the few pixel counts that one row of boxes has: a multiplication by 2^40 / count, rounded up. It is exact while
 * 256 * count^2 < 2^40, which larger boxes exceed: they are divided. */
enum { SHIFT = 40, MOST_BY_MULTIPLICATION = 1 << 16 };

static inline uint8_t mean(uint64_t sum, uint32_t count, uint64_t inverse) {
    sum += count / 2;
    return (uint8_t)(count < MOST_BY_MULTIPLICATION ? sum * inverse >> SHIFT : sum / count);
}

/* One row of the surface: the means of the source pixels that each of its pixels covers. */
static void average_row(const uint8_t *source, int32_t width, int32_t height, int32_t stride, int32_t surface_width, int32_t surface_height,
                        int32_t y, int32_t x, int32_t columns, uint32_t *sums, uint8_t *out) {
    steps down = steps_from(y, height, surface_height);
    int32_t top = down.at;
    step(&down);
    int32_t rows = ceiling(&down) - top;
    steps across = steps_from(x, width, surface_width), last = steps_from(x + columns, width, surface_width);
    int32_t left = across.at, span = (ceiling(&last) - left) * PIXEL;
    memset(sums, 0, (size_t)span * sizeof *sums);
    for (int32_t row = 0; row < rows; row++) {
        const uint8_t *line = source + (int64_t)(top + row) * stride + (int64_t)left * PIXEL;
        for (int32_t i = 0; i < span; i++)
            sums[i] += line[i];
    }
    /* A pixel covers one of three numbers of columns. */
    int32_t fewest = width / surface_width > 0 ? width / surface_width : 1;
    uint64_t inverses[3];
    for (int32_t more = 0; more < 3; more++)
        inverses[more] = ((uint64_t)1 << SHIFT) / ((uint64_t)(fewest + more) * (uint64_t)rows) + 1;
    for (int32_t column = 0; column < columns; column++) {
        int32_t from = across.at;
        step(&across);
        int32_t covered = ceiling(&across) - from;
        uint32_t count = (uint32_t)covered * (uint32_t)rows;
        const uint32_t *sum = sums + (int64_t)(from - left) * PIXEL;
        uint64_t blue = 0, green = 0, red = 0;
        for (int32_t i = 0; i < covered; i++, sum += PIXEL) {
            blue += sum[0];
            green += sum[1];
            red += sum[2];
        }
        *out++ = mean(blue, count, inverses[covered - fewest]);
        *out++ = mean(green, count, inverses[covered - fewest]);
        *out++ = mean(red, count, inverses[covered - fewest]);
        *out++ = OPAQUE;
    }
}

/* ---- colour ---- */

typedef struct {
    uint8_t *y, *u, *v;
    int32_t stride; /* of Y; those of U and V are half of it */
} picture;

static void luma(const uint8_t *source, uint8_t *y, int32_t width) {
    for (int32_t x = 0; x < width; x++) {
        int32_t blue = source[PIXEL * x], green = source[PIXEL * x + 1], red = source[PIXEL * x + 2];
        y[x] = (uint8_t)(((66 * red + 129 * green + 25 * blue + 128) >> 8) + 16);
    }
}

static void chroma(const uint8_t *upper, const uint8_t *lower, uint8_t *u, uint8_t *v, int32_t width) {
    for (int32_t x = 0; x < width; x++) {
        const uint8_t *a = upper + 2 * PIXEL * x, *b = lower + 2 * PIXEL * x;
        int32_t blue = (a[0] + a[4] + b[0] + b[4] + 2) >> 2;
        int32_t green = (a[1] + a[5] + b[1] + b[5] + 2) >> 2;
        int32_t red = (a[2] + a[6] + b[2] + b[6] + 2) >> 2;
        u[x] = (uint8_t)(((-38 * red - 74 * green + 112 * blue + 128) >> 8) + 128);
        v[x] = (uint8_t)(((112 * red - 94 * green - 18 * blue + 128) >> 8) + 128);
    }
}

/* Pixels of even width and height. */
static void convert(const uint8_t *source, int32_t stride, picture to, int32_t width, int32_t height, int32_t exact) {
#ifdef TX_LIBYUV
    if (!exact) {
        ARGBToI420(source, stride, to.y, to.stride, to.u, to.stride / 2, to.v, to.stride / 2, width, height);
        return;
    }
#else
    (void)exact;
#endif
    for (int32_t row = 0; row < height; row += 2, source += 2 * (int64_t)stride) {
        luma(source, to.y + (int64_t)row * to.stride, width);
        luma(source + stride, to.y + (int64_t)(row + 1) * to.stride, width);
        chroma(source, source + stride, to.u + (int64_t)row / 2 * (to.stride / 2), to.v + (int64_t)row / 2 * (to.stride / 2), width / 2);
    }
}

int32_t tx_has_libyuv(void) {
#ifdef TX_LIBYUV
    return 1;
#else
    return 0;
#endif
}

void tx_i420_from_bgrx(const uint8_t *source, int32_t width, int32_t height, int32_t stride, uint8_t *planes, int32_t surface_width,
                       int32_t surface_height, tx_box box, uint32_t *scratch, int32_t exact) {
    int32_t left = box.x & ~1, top = box.y & ~1;
    int32_t columns = ((box.x + box.width + 1) & ~1) - left, rows = ((box.y + box.height + 1) & ~1) - top;
    int64_t area = (int64_t)surface_width * surface_height;
    int64_t half = (int64_t)(top / 2) * (surface_width / 2) + left / 2;
    picture to = {planes + (int64_t)top * surface_width + left, planes + area + half, planes + area + area / 4 + half, surface_width};
    if (width == surface_width && height == surface_height) {
        convert(source + (int64_t)top * stride + (int64_t)left * PIXEL, stride, to, columns, rows, exact);
        return;
    }
    uint8_t *pair = (uint8_t *)(scratch + PIXEL * (int64_t)width);
    for (int32_t row = 0; row < rows; row += 2) {
        for (int32_t i = 0; i < 2; i++)
            average_row(source, width, height, stride, surface_width, surface_height, top + row + i, left, columns, scratch,
                        pair + (int64_t)i * columns * PIXEL);
        picture part = {to.y + (int64_t)row * to.stride, to.u + (int64_t)row / 2 * (to.stride / 2), to.v + (int64_t)row / 2 * (to.stride / 2),
                        to.stride};
        convert(pair, columns * PIXEL, part, columns, 2, exact);
    }
}
