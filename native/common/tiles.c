#include "tiles.h"

#include <string.h>

enum { PIXEL = 4 };

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }

/* memcmp of the whole row first: the C library compares with vector instructions, so an unchanged row costs one pass at memory speed and a
 * hash, written by hand, is slower. Only a row that differs is looked at tile by tile, and only in tiles that are not marked yet. */
void tx_tiles_merge(uint8_t *kept, int32_t width, int32_t stride, const uint8_t *patch, int32_t patch_stride, tx_box box, uint8_t *changed) {
    int32_t columns = (width + TX_TILE - 1) / TX_TILE;
    int32_t right = box.x + box.width;
    for (int32_t row = 0; row < box.height; row++) {
        int32_t y = box.y + row;
        uint8_t *old = kept + (int64_t)y * stride + (int64_t)box.x * PIXEL;
        const uint8_t *new = patch + (int64_t)row * patch_stride;
        if (memcmp(old, new, (size_t)box.width * PIXEL) == 0)
            continue;
        uint8_t *marks = changed + (int64_t)(y / TX_TILE) * columns;
        for (int32_t column = box.x / TX_TILE; column <= (right - 1) / TX_TILE; column++) {
            if (marks[column])
                continue;
            int32_t from = most(column * TX_TILE, box.x);
            int32_t to = least((column + 1) * TX_TILE, right);
            int64_t offset = (int64_t)(from - box.x) * PIXEL;
            if (memcmp(old + offset, new + offset, (size_t)(to - from) * PIXEL) != 0)
                marks[column] = 1;
        }
        memcpy(old, new, (size_t)box.width * PIXEL);
    }
}

int32_t tx_tiles_group(uint8_t *changed, int32_t width, int32_t height, uint32_t *scratch, tx_box *boxes) {
    int32_t columns = (width + TX_TILE - 1) / TX_TILE;
    int32_t rows = (height + TX_TILE - 1) / TX_TILE;
    int32_t count = 0;
    for (int32_t first = 0; first < columns * rows; first++) {
        if (!changed[first])
            continue;
        int32_t left = columns, right = -1, top = rows, bottom = -1;
        /* A tile is unmarked when it is pushed, so each is pushed once at most and `scratch` cannot overflow. */
        int32_t waiting = 0;
        scratch[waiting++] = (uint32_t)first;
        changed[first] = 0;
        while (waiting) {
            int32_t tile = (int32_t)scratch[--waiting];
            int32_t column = tile % columns, row = tile / columns;
            left = least(left, column);
            right = most(right, column);
            top = least(top, row);
            bottom = most(bottom, row);
            const int32_t neighbours[4] = {
                row > 0 ? tile - columns : -1,
                column > 0 ? tile - 1 : -1,
                column + 1 < columns ? tile + 1 : -1,
                row + 1 < rows ? tile + columns : -1,
            };
            for (int32_t i = 0; i < 4; i++) {
                if (neighbours[i] >= 0 && changed[neighbours[i]]) {
                    changed[neighbours[i]] = 0;
                    scratch[waiting++] = (uint32_t)neighbours[i];
                }
            }
        }
        tx_box *box = &boxes[count++];
        box->x = left * TX_TILE;
        box->y = top * TX_TILE;
        box->width = least((right + 1) * TX_TILE, width) - box->x;
        box->height = least((bottom + 1) * TX_TILE, height) - box->y;
    }
    return count;
}
