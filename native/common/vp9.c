#include "vp9.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>

enum {
    MACROBLOCK = 16,
    FINEST_MOVING = 8, /* quantizers: of a picture that changes, as other senders of screens have it */
    COARSEST_MOVING = 52,
    FINEST_STILL = 2, /* of one that does not */
    COARSEST_STILL = 10,
    SPEED = 9, /* half the time of 8 for full motion */
    FRESH = 1,
    SETTLED = 5, /* a macroblock that differs is coded in so many pictures, unless it differs again */
};

struct tx_vp9 {
    vpx_codec_ctx_t codec;
    vpx_codec_enc_cfg_t config;
    int32_t width, height, columns, macroblocks;
    int32_t threads, half_threads;
    int64_t pictures;
    uint8_t *ages;   /* of each macroblock: 0 refined; 1.. the number of its next coding since it differed; SETTLED and above: left alone */
    uint8_t *active; /* 1: to be coded */
    uint8_t *small;  /* the half-size picture; made when it is first needed */
    char error[160];
};

static int32_t failed(tx_vp9 *encoder, const char *doing) {
    const char *detail = vpx_codec_error_detail(&encoder->codec);
    snprintf(encoder->error, sizeof encoder->error, "libvpx cannot %s: %s", doing, detail ? detail : vpx_codec_error(&encoder->codec));
    return -1;
}

/* Twice as many columns of tiles for each power of two of threads, eight at most: motion vectors and contexts end at tiles, so more of them
 * than threads make a moving window several decibels worse, and nothing faster. */
static int32_t tile_columns(int32_t threads) { return threads > 4 ? 3 : threads > 2 ? 2 : threads > 1; }

static int32_t tune(vpx_codec_ctx_t *codec, int32_t threads) {
    return vpx_codec_control(codec, VP8E_SET_CPUUSED, SPEED) || vpx_codec_control(codec, VP8E_SET_MAX_INTRA_BITRATE_PCT, 900) ||
           vpx_codec_control(codec, VP9E_SET_ROW_MT, 1) || vpx_codec_control(codec, VP9E_SET_TUNE_CONTENT, VP9E_CONTENT_SCREEN) ||
           vpx_codec_control(codec, VP9E_SET_AQ_MODE, 3) || vpx_codec_control(codec, VP9E_SET_NOISE_SENSITIVITY, 0) ||
           vpx_codec_control(codec, VP9E_SET_TILE_COLUMNS, tile_columns(threads)) || vpx_codec_control(codec, VP9E_SET_COLOR_SPACE, VPX_CS_BT_601);
}

/* Begin anew, for pictures of another size: the library keeps the number of threads that it began with. */
static int32_t start(tx_vp9 *encoder, int32_t width, int32_t height, int32_t threads) {
    vpx_codec_enc_cfg_t *config = &encoder->config;
    if (encoder->codec.iface)
        vpx_codec_destroy(&encoder->codec);
    config->g_w = (unsigned)width;
    config->g_h = (unsigned)height;
    config->g_threads = (unsigned)threads;
    return vpx_codec_enc_init(&encoder->codec, vpx_codec_vp9_cx(), config, 0) || tune(&encoder->codec, threads) ? failed(encoder, "open an encoder") : 0;
}

tx_vp9 *tx_vp9_open(int32_t width, int32_t height, int32_t fps, int32_t kbps, int32_t threads, int32_t half_threads, char *error,
                    int32_t error_size) {
    tx_vp9 *encoder = calloc(1, sizeof *encoder);
    if (!encoder) {
        snprintf(error, (size_t)error_size, "no memory for an encoder");
        return NULL;
    }
    encoder->width = width;
    encoder->height = height;
    encoder->threads = threads;
    encoder->half_threads = half_threads;
    encoder->columns = (width + MACROBLOCK - 1) / MACROBLOCK;
    encoder->macroblocks = encoder->columns * ((height + MACROBLOCK - 1) / MACROBLOCK);
    encoder->ages = calloc((size_t)encoder->macroblocks, 2);
    vpx_codec_enc_cfg_t *config = &encoder->config;
    if (!encoder->ages || vpx_codec_enc_config_default(vpx_codec_vp9_cx(), config, 0)) {
        snprintf(error, (size_t)error_size, "no memory for an encoder of %dx%d", width, height);
        tx_vp9_close(encoder);
        return NULL;
    }
    encoder->active = encoder->ages + encoder->macroblocks;
    config->g_timebase.num = 1;
    config->g_timebase.den = fps;
    config->g_lag_in_frames = 0;
    config->rc_end_usage = VPX_CBR;
    config->rc_target_bitrate = (unsigned)kbps;
    config->rc_min_quantizer = FINEST_MOVING;
    config->rc_max_quantizer = COARSEST_MOVING;
    config->rc_undershoot_pct = config->rc_overshoot_pct = 50;
    config->rc_buf_sz = 1000;
    config->rc_buf_initial_sz = 500;
    config->rc_buf_optimal_sz = 600;
    config->rc_dropframe_thresh = 0;
    config->kf_mode = VPX_KF_DISABLED;
    if (start(encoder, width, height, threads)) {
        snprintf(error, (size_t)error_size, "%s", encoder->error);
        tx_vp9_close(encoder);
        return NULL;
    }
    return encoder;
}

void tx_vp9_close(tx_vp9 *encoder) {
    if (encoder->codec.iface)
        vpx_codec_destroy(&encoder->codec);
    free(encoder->ages);
    free(encoder->small);
    free(encoder);
}

const char *tx_vp9_error(const tx_vp9 *encoder) { return encoder->error; }

const char *tx_vp9_version(void) { return vpx_codec_version_str(); }

/* ---- half size ---- */

static uint8_t *halve_plane(const uint8_t *from, int32_t stride, uint8_t *to, int32_t width, int32_t height) {
    for (int32_t y = 0; y < height; y++, to += width) {
        const uint8_t *upper = from + 2 * (int64_t)y * stride, *lower = upper + stride;
        for (int32_t x = 0; x < width; x++)
            to[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
    }
    return to;
}

static int32_t half_of(int32_t side) { return (side / 2) & ~1; }

static const uint8_t *halved(tx_vp9 *encoder, const uint8_t *planes) {
    int32_t width = half_of(encoder->width), height = half_of(encoder->height);
    int64_t area = (int64_t)encoder->width * encoder->height;
    if (!encoder->small && !(encoder->small = malloc((size_t)width * (size_t)height * 3 / 2)))
        return NULL;
    uint8_t *next = halve_plane(planes, encoder->width, encoder->small, width, height);
    next = halve_plane(planes + area, encoder->width / 2, next, width / 2, height / 2);
    halve_plane(planes + area + area / 4, encoder->width / 2, next, width / 2, height / 2);
    return encoder->small;
}

/* ---- which macroblocks ---- */

static void damaged(tx_vp9 *encoder, const int32_t box[4]) {
    int32_t left = box[0] / MACROBLOCK, right = (box[0] + box[2] - 1) / MACROBLOCK, bottom = (box[1] + box[3] - 1) / MACROBLOCK;
    for (int32_t row = box[1] / MACROBLOCK; row <= bottom; row++)
        memset(encoder->ages + (int64_t)row * encoder->columns + left, FRESH, (size_t)(right - left + 1));
}

/* Choose the macroblocks that this picture codes, all of them in a key frame and else at most so many, and count them in `packet`. */
static void choose(tx_vp9 *encoder, int32_t key, int32_t refine, int32_t most, tx_vp9_packet *packet) {
    if (key)
        memset(encoder->ages, FRESH, (size_t)encoder->macroblocks);
    int32_t last = refine ? UINT8_MAX : SETTLED - 1;
    packet->coded = packet->rough = 0;
    for (int32_t i = 0; i < encoder->macroblocks; i++) {
        uint8_t age = encoder->ages[i], active = age && age <= last && packet->coded < most;
        encoder->active[i] = active;
        packet->coded += active;
        encoder->ages[i] = active ? (refine ? 0 : age + 1) : age;
        packet->rough += encoder->ages[i] != 0;
    }
}

/* ---- one picture ---- */

/* Give the library what differs from its present configuration. */
static int32_t configure(tx_vp9 *encoder, int32_t width, int32_t height, int32_t refine, int32_t kbps) {
    vpx_codec_enc_cfg_t *config = &encoder->config;
    int32_t resized = config->g_w != (unsigned)width || config->g_h != (unsigned)height;
    int32_t coarsest = refine ? COARSEST_STILL : COARSEST_MOVING;
    if (!resized && config->rc_max_quantizer == (unsigned)coarsest && config->rc_target_bitrate == (unsigned)kbps)
        return 0;
    config->rc_min_quantizer = refine ? FINEST_STILL : FINEST_MOVING;
    config->rc_max_quantizer = (unsigned)coarsest;
    config->rc_target_bitrate = (unsigned)kbps;
    if (resized)
        return start(encoder, width, height, width == encoder->width ? encoder->threads : encoder->half_threads);
    return vpx_codec_enc_config_set(&encoder->codec, config) ? failed(encoder, "change its settings") : 0;
}

static int32_t take_packet(tx_vp9 *encoder, tx_vp9_packet *packet) {
    vpx_codec_iter_t at = NULL;
    const vpx_codec_cx_pkt_t *next;
    int32_t count = 0;
    while ((next = vpx_codec_get_cx_data(&encoder->codec, &at))) {
        if (next->kind != VPX_CODEC_CX_FRAME_PKT)
            continue;
        packet->data = next->data.frame.buf;
        packet->size = (int64_t)next->data.frame.sz;
        packet->key = (next->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
        count++;
    }
    if (count == 1)
        return vpx_codec_control(&encoder->codec, VP8E_GET_LAST_QUANTIZER_64, &packet->quantizer) ? failed(encoder, "say how coarse it is") : 0;
    snprintf(encoder->error, sizeof encoder->error, "libvpx made %d packets of one picture", count);
    return -1;
}

int32_t tx_vp9_encode(tx_vp9 *encoder, const uint8_t *planes, const int32_t (*damage)[4], int32_t count, int32_t flags, int32_t most,
                      int32_t kbps, tx_vp9_packet *packet) {
    int32_t half = flags & TX_VP9_HALF, refine = flags & TX_VP9_REFINE;
    int32_t width = half ? half_of(encoder->width) : encoder->width, height = half ? half_of(encoder->height) : encoder->height;
    int32_t resized = encoder->config.g_w != (unsigned)width || encoder->config.g_h != (unsigned)height;
    int32_t key = flags & TX_VP9_KEY || resized || !encoder->pictures;
    if (configure(encoder, width, height, refine, kbps))
        return -1;
    for (int32_t i = 0; i < count; i++)
        damaged(encoder, damage[i]);
    choose(encoder, key, refine, key || !refine || most <= 0 ? encoder->macroblocks : most, packet);
    if (half && !(planes = halved(encoder, planes))) {
        snprintf(encoder->error, sizeof encoder->error, "no memory for a picture of half size");
        return -1;
    }
    if (!key) {
        /* A half-size picture is one in motion: all of it is coded. The library forgets the map at every key frame. */
        vpx_active_map_t map = {half || packet->coded == encoder->macroblocks ? NULL : encoder->active,
                                (unsigned)(encoder->macroblocks / encoder->columns), (unsigned)encoder->columns};
        if (half) {
            map.rows = (unsigned)(height + MACROBLOCK - 1) / MACROBLOCK;
            map.cols = (unsigned)(width + MACROBLOCK - 1) / MACROBLOCK;
        }
        if (vpx_codec_control(&encoder->codec, VP8E_SET_ACTIVEMAP, &map))
            return failed(encoder, "say what differs");
    }
    vpx_image_t image;
    if (!vpx_img_wrap(&image, VPX_IMG_FMT_I420, (unsigned)width, (unsigned)height, 1, (unsigned char *)planes)) {
        snprintf(encoder->error, sizeof encoder->error, "libvpx takes no picture of %dx%d", width, height);
        return -1;
    }
    if (vpx_codec_encode(&encoder->codec, &image, encoder->pictures++, 1, key ? VPX_EFLAG_FORCE_KF : 0, VPX_DL_REALTIME))
        return failed(encoder, "encode the picture");
    return take_packet(encoder, packet);
}
