/* Colour and size: frames as the consumer reads them (BGRX) and as an encoder does (I420). Called by the capture adapters, for pixels from any
 * source.
 *
 * Nothing here allocates, locks or fails. A source is `width` x `height` pixels of four bytes B, G, R, X in rows of `stride` bytes. The surface
 * shows all of it, at its size or scaled down. Boxes are in pixels of the surface, and lie inside it.
 */
#ifndef TRIPTYCH_CONVERT_H
#define TRIPTYCH_CONVERT_H

#include <stdint.h>

#include "tiles.h"

/* The surface's pixels inside `box`, as tight rows. A surface of the source's size has its bytes as they are; of another size, the pixel at x
 * is the source's at x * width / surface_width, with 255 as its fourth byte. */
void tx_scale_bgrx(const uint8_t *source, int32_t width, int32_t height, int32_t stride, int32_t surface_width, int32_t surface_height, tx_box box,
                   uint8_t *out);

/* Whether colours are converted by libyuv, unless told not to. */
int32_t tx_has_libyuv(void);

/* Bring the I420 picture in `planes` up to date inside `box`, which grows to even edges. BT.601, limited range:
 *   Y = ((66R + 129G + 25B + 128) >> 8) + 16
 *   U = ((-38R - 74G + 112B + 128) >> 8) + 128   of the rounded mean of 2x2 pixels, as V = ((112R - 94G - 18B + 128) >> 8) + 128
 * A surface of another size than the source's has at x the rounded mean of the source columns floor(x * width / surface_width) up to
 * ceil((x + 1) * width / surface_width), and rows alike. `exact` 0 lets libyuv do it, which may be one beside the formula.
 *
 * The surface's sides are even. `planes` holds Y, U and V one after the other, rows tight: surface_width * surface_height * 3 / 2 bytes.
 * `scratch` has room for 4 * width + 2 * surface_width numbers; it is not used when the sizes are equal. */
void tx_i420_from_bgrx(const uint8_t *source, int32_t width, int32_t height, int32_t stride, uint8_t *planes, int32_t surface_width,
                       int32_t surface_height, tx_box box, uint32_t *scratch, int32_t exact);

#endif
