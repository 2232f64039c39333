/* VP9 for a live desktop: one picture in, one packet out, by libvpx. Called by the encoder adapter, on one thread at a time.
 *
 * The settings are those of a screen that is watched while it changes: constant bit rate, no look-ahead, no key frame but those asked for.
 * Pictures are I420: Y, U and V one after the other, rows tight, sides even.
 */
#ifndef TRIPTYCH_VP9_H
#define TRIPTYCH_VP9_H

#include <stdint.h>

typedef struct tx_vp9 tx_vp9;

/* What one picture shall be. KEY: decodable without any before it. REFINE: in the quality of a still picture, at full size. HALF: at half the
 * width and height, which takes a quarter of the time. A change of size makes a key frame by itself. */
enum { TX_VP9_KEY = 1, TX_VP9_REFINE = 2, TX_VP9_HALF = 4 };

/* A packet: `size` bytes at `data`, which the next call for the same encoder overwrites. `coded` of the picture's 16x16 macroblocks were looked
 * at; the others stay as the decoder has them. `rough` of them are not refined yet. `quantizer` is how coarse it is: 0 to 63. */
typedef struct {
    const uint8_t *data;
    int64_t size;
    int32_t key, coded, rough, quantizer;
} tx_vp9_packet;

/* An encoder of pictures of `width` x `height`, or NULL and a sentence in `error`. `fps` is the most that will come in a second; so many
 * `threads` work at a picture, and so many at one of half the size. */
tx_vp9 *tx_vp9_open(int32_t width, int32_t height, int32_t fps, int32_t kbps, int32_t threads, int32_t half_threads, char *error,
                    int32_t error_size);

/* Encode a picture of the encoder's size, which differs from the one before in the `count` boxes of `damage` only: x, y, width and height each,
 * inside the picture. What differs is coded again in some pictures after, since its first coding is rough; a REFINE codes what is still
 * rough, from the top: all of it, or `most` macroblocks if that is above 0. From now on `kbps` holds. 0, or -1 and `tx_vp9_error` says why: then close it. */
int32_t tx_vp9_encode(tx_vp9 *encoder, const uint8_t *planes, const int32_t (*damage)[4], int32_t count, int32_t flags, int32_t most,
                      int32_t kbps, tx_vp9_packet *packet);

/* Why the last encode failed. */
const char *tx_vp9_error(const tx_vp9 *encoder);

void tx_vp9_close(tx_vp9 *encoder);

/* The library's version, such as "v1.12.0". */
const char *tx_vp9_version(void);

#endif
