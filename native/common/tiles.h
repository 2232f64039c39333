/* Tiles and damage: which squares of a frame differ from the frame kept before, and the boxes around them.
 *
 * Called by the capture adapters, for pixels from any source. Nothing here allocates, locks or fails. Widths are in pixels of four bytes,
 * strides in bytes; tiles are numbered row by row from the top left, `columns = (width + TX_TILE - 1) / TX_TILE` of them in a row.
 */
#ifndef TRIPTYCH_TILES_H
#define TRIPTYCH_TILES_H

#include <stdint.h>

enum { TX_TILE = 32 }; /* pixels, in both directions */

typedef struct {
    int32_t x, y, width, height;
} tx_box;

/* Copy `patch`, the new pixels of `box`, into `kept` (`width` x `height`) and set changed[tile] = 1 for every tile where a byte differed.
 * Tiles that are equal, or outside the box, keep the mark they had. `box` must lie inside the frame. */
void tx_tiles_merge(uint8_t *kept, int32_t width, int32_t stride, const uint8_t *patch, int32_t patch_stride, tx_box box, uint8_t *changed);

/* Group the marked tiles into one bounding box for each 4-connected component, clipped to the frame, in the order of each component's
 * first tile. `boxes` and `scratch` have room for one entry a tile. Clears the marks and returns the number of boxes. */
int32_t tx_tiles_group(uint8_t *changed, int32_t width, int32_t height, uint32_t *scratch, tx_box *boxes);

#endif
