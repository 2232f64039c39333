/* Capture: the root window's pixels through MIT-SHM, and what was drawn on it through DAMAGE. Interface and contract: x11.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xcb/damage.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xfixes.h>

#include "x11.h"
#include "x11_connection.h"

enum {
    PIXEL = 4,
    ALL_PLANES = -1,
    /* Requests sent ahead of their replies: enough to hide the round trip, few enough for a fixed table. */
    PIPELINE = 64,
};

struct tx_capture {
    xcb_connection_t *connection;
    xcb_window_t root;
    int32_t width, height;
    int32_t resized; /* told by an event, not yet by tx_capture_wait */
    int32_t damaged; /* a DAMAGE event arrived and its region was not fetched yet */
    uint8_t damage_event;
    xcb_damage_damage_t damage;
    xcb_xfixes_region_t region;
    int32_t can_share;
    xcb_shm_seg_t segment; /* XCB_NONE: pictures come through the socket */
    uint8_t *memory;
    uint64_t length;
};

/* ---- opening ---- */

static const char *unusable_pixels(xcb_connection_t *connection, const xcb_screen_t *screen) {
    const xcb_setup_t *setup = xcb_get_setup(connection);
    if (screen->root_depth != 24)
        return "the root window is not 24 bits deep";
    if (setup->image_byte_order != XCB_IMAGE_ORDER_LSB_FIRST)
        return "the server's pixels are big-endian";
    for (xcb_format_iterator_t f = xcb_setup_pixmap_formats_iterator(setup); f.rem; xcb_format_next(&f))
        if (f.data->depth == 24 && f.data->bits_per_pixel != 32)
            return "the server packs a pixel in other than 32 bits";
    for (xcb_depth_iterator_t d = xcb_screen_allowed_depths_iterator(screen); d.rem; xcb_depth_next(&d))
        for (xcb_visualtype_iterator_t v = xcb_depth_visuals_iterator(d.data); v.rem; xcb_visualtype_next(&v))
            if (v.data->visual_id == screen->root_visual)
                return v.data->red_mask == 0xff0000 && v.data->green_mask == 0xff00 && v.data->blue_mask == 0xff
                           ? NULL
                           : "the server's pixels are not in the order blue, green, red";
    return "the root window's visual is unknown";
}

/* Both extensions want their version negotiated before any other request. */
static int32_t has_damage(tx_capture *capture) {
    xcb_connection_t *c = capture->connection;
    const xcb_query_extension_reply_t *damage = xcb_get_extension_data(c, &xcb_damage_id);
    const xcb_query_extension_reply_t *fixes = xcb_get_extension_data(c, &xcb_xfixes_id);
    if (!damage || !damage->present || !fixes || !fixes->present)
        return 0;
    capture->damage_event = damage->first_event + XCB_DAMAGE_NOTIFY;
    xcb_damage_query_version_cookie_t damage_asked = xcb_damage_query_version(c, 1, 1);
    xcb_xfixes_query_version_cookie_t fixes_asked = xcb_xfixes_query_version(c, 5, 0);
    xcb_damage_query_version_reply_t *damage_version = xcb_damage_query_version_reply(c, damage_asked, NULL);
    xcb_xfixes_query_version_reply_t *fixes_version = xcb_xfixes_query_version_reply(c, fixes_asked, NULL);
    int32_t usable = damage_version && fixes_version && fixes_version->major_version >= 2;
    free(damage_version);
    free(fixes_version);
    return usable;
}

/* Passing a descriptor needs MIT-SHM 1.2 and a local socket: over TCP libxcb would close the whole connection. */
static int32_t can_share(xcb_connection_t *c) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(xcb_get_file_descriptor(c), (struct sockaddr *)&address, &size) != 0 || address.ss_family != AF_UNIX)
        return 0;
    const xcb_query_extension_reply_t *extension = xcb_get_extension_data(c, &xcb_shm_id);
    if (!extension || !extension->present)
        return 0;
    xcb_shm_query_version_reply_t *version = xcb_shm_query_version_reply(c, xcb_shm_query_version(c), NULL);
    int32_t usable = version && (version->major_version > 1 || version->minor_version >= 2);
    free(version);
    return usable;
}

/* Ask for the size after the events were selected, so that no resize falls between the two. */
static int32_t read_size(tx_capture *capture) {
    xcb_generic_error_t *error = NULL;
    xcb_get_geometry_reply_t *g = xcb_get_geometry_reply(capture->connection, xcb_get_geometry(capture->connection, capture->root), &error);
    if (!g)
        return tx_failure(capture->connection, error);
    capture->width = g->width;
    capture->height = g->height;
    free(g);
    return 0;
}

static const char *start(tx_capture *capture, const xcb_screen_t *screen) {
    xcb_connection_t *c = capture->connection;
    const char *unusable = unusable_pixels(c, screen);
    if (unusable)
        return unusable;
    if (!has_damage(capture))
        return "the server lacks the DAMAGE or XFIXES extension";
    capture->can_share = can_share(c);
    capture->damage = xcb_generate_id(c);
    capture->region = xcb_generate_id(c);
    const uint32_t events[] = {XCB_EVENT_MASK_STRUCTURE_NOTIFY};
    xcb_change_window_attributes(c, capture->root, XCB_CW_EVENT_MASK, events);
    xcb_xfixes_create_region(c, capture->region, 0, NULL);
    /* NonEmpty: one event a burst, however much is drawn, until the damage is subtracted. The whole window counts as drawn at first. */
    xcb_void_cookie_t made = xcb_damage_create_checked(c, capture->damage, capture->root, XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY);
    xcb_generic_error_t *error = xcb_request_check(c, made);
    if (error) {
        free(error);
        return "the server does not report damage of its root window";
    }
    return read_size(capture) < 0 ? "the server closed the connection" : NULL;
}

tx_capture *tx_capture_open(const char *display, char *error, int32_t error_size) {
    tx_capture *capture = calloc(1, sizeof *capture);
    if (!capture) {
        snprintf(error, (size_t)error_size, "out of memory");
        return NULL;
    }
    xcb_screen_t *screen = NULL;
    capture->connection = tx_connect(display, &screen, error, error_size);
    if (!capture->connection) {
        free(capture);
        return NULL;
    }
    capture->root = screen->root;
    const char *refusal = start(capture, screen);
    if (refusal) {
        snprintf(error, (size_t)error_size, "%s", refusal);
        tx_capture_close(capture);
        return NULL;
    }
    return capture;
}

void tx_capture_close(tx_capture *capture) {
    /* The server frees the damage, the region and the segment with the connection. */
    xcb_disconnect(capture->connection);
    free(capture);
}

void tx_capture_size(const tx_capture *capture, int32_t *width, int32_t *height) {
    *width = capture->width;
    *height = capture->height;
}

int32_t tx_capture_share(tx_capture *capture, int32_t fd, uint8_t *memory, uint64_t length) {
    xcb_connection_t *c = capture->connection;
    if (capture->segment != XCB_NONE)
        xcb_shm_detach(c, capture->segment);
    capture->segment = XCB_NONE;
    capture->memory = memory;
    capture->length = length;
    if (!capture->can_share)
        return 0;
    /* libxcb closes the descriptor that it sends. */
    int32_t sent = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (sent < 0)
        return 0;
    xcb_shm_seg_t segment = xcb_generate_id(c);
    xcb_generic_error_t *error = xcb_request_check(c, xcb_shm_attach_fd_checked(c, segment, sent, 0));
    if (xcb_connection_has_error(c)) {
        free(error);
        return TX_LOST;
    }
    if (error) {
        free(error);
        return 0;
    }
    capture->segment = segment;
    return 1;
}

/* ---- grabbing ---- */

/* A refused picture is nearly always a root window that shrank under us: BadMatch. Tell the two apart by looking. */
static int32_t grab_failure(tx_capture *capture, xcb_generic_error_t *error) {
    int32_t width = capture->width, height = capture->height;
    int32_t failure = tx_failure(capture->connection, error);
    if (failure == TX_LOST)
        return failure;
    int32_t looked = read_size(capture);
    if (looked < 0)
        return looked;
    return width != capture->width || height != capture->height ? TX_RESIZED : TX_REFUSED;
}

static int32_t fits(const tx_capture *capture, uint64_t bytes) { return capture->memory && bytes <= capture->length; }

static uint64_t bytes_of(tx_box box) { return (uint64_t)box.width * (uint64_t)box.height * PIXEL; }

static xcb_shm_get_image_cookie_t ask_shared(tx_capture *capture, tx_box box, uint64_t offset) {
    return xcb_shm_get_image(capture->connection, capture->root, (int16_t)box.x, (int16_t)box.y, (uint16_t)box.width, (uint16_t)box.height,
                             (uint32_t)ALL_PLANES, XCB_IMAGE_FORMAT_Z_PIXMAP, capture->segment, (uint32_t)offset);
}

static int32_t await_shared(tx_capture *capture, xcb_shm_get_image_cookie_t asked) {
    xcb_generic_error_t *error = NULL;
    xcb_shm_get_image_reply_t *reply = xcb_shm_get_image_reply(capture->connection, asked, &error);
    if (!reply)
        return grab_failure(capture, error);
    free(reply);
    return 0;
}

static int32_t grab_copied(tx_capture *capture, tx_box box) {
    xcb_connection_t *c = capture->connection;
    xcb_generic_error_t *error = NULL;
    xcb_get_image_cookie_t asked = xcb_get_image(c, XCB_IMAGE_FORMAT_Z_PIXMAP, capture->root, (int16_t)box.x, (int16_t)box.y,
                                                 (uint16_t)box.width, (uint16_t)box.height, (uint32_t)ALL_PLANES);
    xcb_get_image_reply_t *reply = xcb_get_image_reply(c, asked, &error);
    if (!reply)
        return grab_failure(capture, error);
    uint64_t have = (uint64_t)xcb_get_image_data_length(reply);
    int32_t whole = have >= bytes_of(box);
    if (whole)
        memcpy(capture->memory, xcb_get_image_data(reply), bytes_of(box));
    free(reply);
    return whole ? 0 : TX_REFUSED;
}

int32_t tx_capture_grab(tx_capture *capture) {
    tx_box all = {0, 0, capture->width, capture->height};
    if (!fits(capture, bytes_of(all)))
        return TX_RESIZED;
    return capture->segment != XCB_NONE ? await_shared(capture, ask_shared(capture, all, 0)) : grab_copied(capture, all);
}

/* As many boxes as fit into the shared memory side by side: all asked for first, then merged as the replies come in. */
static int32_t refresh_shared(tx_capture *capture, uint8_t *kept, const tx_box *boxes, int32_t count, uint8_t *changed) {
    xcb_shm_get_image_cookie_t asked[PIPELINE];
    uint64_t offsets[PIPELINE];
    int32_t sent = 0;
    for (uint64_t offset = 0; sent < count && sent < PIPELINE && fits(capture, offset + bytes_of(boxes[sent])); sent++) {
        asked[sent] = ask_shared(capture, boxes[sent], offset);
        offsets[sent] = offset;
        offset += bytes_of(boxes[sent]);
    }
    if (sent == 0)
        return TX_RESIZED;
    int32_t first_failure = 0;
    for (int32_t i = 0; i < sent; i++) {
        int32_t outcome = await_shared(capture, asked[i]);
        if (outcome < 0 && first_failure == 0)
            first_failure = outcome;
        /* After a failure only the remaining replies are collected: kept may have the wrong size by now. */
        if (first_failure == 0)
            tx_tiles_merge(kept, capture->width, capture->width * PIXEL, capture->memory + offsets[i], boxes[i].width * PIXEL, boxes[i], changed);
    }
    return first_failure < 0 ? first_failure : sent;
}

static int32_t refresh_copied(tx_capture *capture, uint8_t *kept, tx_box box, uint8_t *changed) {
    if (!fits(capture, bytes_of(box)))
        return TX_RESIZED;
    int32_t outcome = grab_copied(capture, box);
    if (outcome < 0)
        return outcome;
    tx_tiles_merge(kept, capture->width, capture->width * PIXEL, capture->memory, box.width * PIXEL, box, changed);
    return 1;
}

int32_t tx_capture_refresh(tx_capture *capture, uint8_t *kept, const tx_box *boxes, int32_t count, uint8_t *changed) {
    while (count > 0) {
        int32_t done = capture->segment != XCB_NONE ? refresh_shared(capture, kept, boxes, count, changed)
                                                    : refresh_copied(capture, kept, *boxes, changed);
        if (done < 0)
            return done;
        boxes += done;
        count -= done;
    }
    return 0;
}

/* ---- waiting ---- */

static void take_event(tx_capture *capture, const xcb_generic_event_t *event) {
    uint8_t kind = event->response_type & 0x7f;
    if (kind == capture->damage_event) {
        capture->damaged = 1;
    } else if (kind == XCB_CONFIGURE_NOTIFY) {
        const xcb_configure_notify_event_t *configured = (const xcb_configure_notify_event_t *)event;
        if (configured->window == capture->root && (configured->width != capture->width || configured->height != capture->height)) {
            capture->width = configured->width;
            capture->height = configured->height;
            capture->resized = 1;
        }
    }
}

/* What was drawn, clipped to the root window: at most `room` boxes, or the one box around them all. */
static int32_t fetch_damage(tx_capture *capture, tx_box *boxes, int32_t room) {
    xcb_connection_t *c = capture->connection;
    xcb_generic_error_t *error = NULL;
    capture->damaged = 0;
    xcb_damage_subtract(c, capture->damage, XCB_NONE, capture->region);
    xcb_xfixes_fetch_region_reply_t *reply = xcb_xfixes_fetch_region_reply(c, xcb_xfixes_fetch_region(c, capture->region), &error);
    if (!reply)
        return tx_failure(c, error);
    int32_t count = xcb_xfixes_fetch_region_rectangles_length(reply);
    const xcb_rectangle_t *drawn = xcb_xfixes_fetch_region_rectangles(reply);
    if (count > room) {
        count = 1;
        drawn = &reply->extents;
    }
    int32_t written = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t left = drawn[i].x < 0 ? 0 : drawn[i].x, top = drawn[i].y < 0 ? 0 : drawn[i].y;
        int32_t right = drawn[i].x + drawn[i].width, bottom = drawn[i].y + drawn[i].height;
        if (right > capture->width)
            right = capture->width;
        if (bottom > capture->height)
            bottom = capture->height;
        if (left < right && top < bottom)
            boxes[written++] = (tx_box){left, top, right - left, bottom - top};
    }
    free(reply);
    return written;
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int32_t tx_capture_wait(tx_capture *capture, int32_t wake_fd, int32_t timeout_ms, tx_box *boxes, int32_t room) {
    xcb_connection_t *c = capture->connection;
    int64_t deadline = now_ms() + timeout_ms;
    for (;;) {
        xcb_generic_event_t *event;
        while ((event = xcb_poll_for_event(c))) {
            take_event(capture, event);
            free(event);
        }
        if (xcb_connection_has_error(c))
            return TX_LOST;
        if (capture->resized) {
            capture->resized = 0;
            return TX_RESIZED;
        }
        if (capture->damaged) {
            int32_t count = fetch_damage(capture, boxes, room);
            if (count != 0)
                return count;
        }
        int64_t left = timeout_ms < 0 ? -1 : deadline - now_ms();
        if (timeout_ms >= 0 && left < 0)
            left = 0;
        /* Fetching the damage may have read further events: they are in libxcb's queue, and the descriptor would stay silent. */
        event = xcb_poll_for_queued_event(c);
        if (event) {
            take_event(capture, event);
            free(event);
            continue;
        }
        xcb_flush(c);
        struct pollfd watched[2] = {{xcb_get_file_descriptor(c), POLLIN, 0}, {wake_fd, POLLIN, 0}};
        int32_t ready = poll(watched, 2, (int)left);
        if (ready < 0)
            /* Python runs its signal handlers only after we return, so a signal ends the wait as its timeout does. */
            return errno == EINTR ? 0 : TX_LOST;
        if (ready == 0)
            return 0;
        if (watched[1].revents)
            return TX_WOKEN;
    }
}
