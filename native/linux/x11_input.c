/* Input: physical edges through XTEST, and the state that they left behind. Interface and contract: x11.h.
 *
 * What is held, released and typed is decided elsewhere; these functions carry one edge each. */
#include "x11_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xcb/xtest.h>

#include "x11_connection.h"

static int32_t has_test(xcb_connection_t *c) {
    const xcb_query_extension_reply_t *extension = xcb_get_extension_data(c, &xcb_test_id);
    if (!extension || !extension->present)
        return 0;
    xcb_test_get_version_reply_t *version = xcb_test_get_version_reply(c, xcb_test_get_version(c, 2, 2), NULL);
    int32_t usable = version != NULL;
    free(version);
    return usable;
}

tx_input *tx_input_open(const char *display, int32_t memory, char *error, int32_t error_size) {
    tx_input *input = calloc(1, sizeof *input);
    if (!input || !(input->held = tx_held_map(memory))) {
        free(input);
        snprintf(error, (size_t)error_size, "out of memory");
        return NULL;
    }
    xcb_screen_t *screen = NULL;
    input->connection = tx_connect(display, &screen, error, error_size);
    if (!input->connection) {
        tx_held_unmap(input->held);
        free(input);
        return NULL;
    }
    input->root = screen->root;
    const char *lacking = !has_test(input->connection) ? "XTEST" : !tx_keymap_start(input) ? "XKEYBOARD" : NULL;
    if (lacking) {
        snprintf(error, (size_t)error_size, "the server lacks the %s extension", lacking);
        tx_input_close(input);
        return NULL;
    }
    if (memory >= 0 && tx_held_begin(input) < 0) {
        snprintf(error, (size_t)error_size, "the server refuses a window for the guard");
        tx_input_close(input);
        return NULL;
    }
    return input;
}

void tx_input_close(tx_input *input) {
    xcb_disconnect(input->connection);
    tx_held_unmap(input->held);
    free(input);
}

int32_t tx_input_drain(tx_input *input) {
    xcb_generic_event_t *event;
    while ((event = xcb_poll_for_event(input->connection))) {
        uint8_t kind = event->response_type & 0x7f;
        input->serial += kind == input->keymap_event || kind == XCB_MAPPING_NOTIFY;
        free(event);
    }
    return xcb_connection_has_error(input->connection) ? TX_LOST : 0;
}

static int32_t push(tx_input *input) {
    xcb_flush(input->connection);
    return tx_input_drain(input);
}

static int32_t edge(tx_input *input, uint8_t kind, int32_t detail, int32_t x, int32_t y) {
    xcb_test_fake_input(input->connection, kind, (uint8_t)detail, XCB_CURRENT_TIME, input->root, (int16_t)x, (int16_t)y, 0);
    return push(input);
}

static int32_t noted_edge(tx_input *input, uint8_t kind, uint8_t *noted, int32_t code, int32_t down) {
    uint8_t bit = (uint8_t)(1u << code % 8);
    if (down)
        noted[code / 8] |= bit;
    int32_t status = edge(input, kind, code, 0, 0);
    if (!down && status == 0)
        noted[code / 8] &= (uint8_t)~bit;
    return status;
}

int32_t tx_input_move(tx_input *input, int32_t x, int32_t y) { return edge(input, XCB_MOTION_NOTIFY, 0, x, y); }

int32_t tx_input_button(tx_input *input, int32_t button, int32_t down) {
    return noted_edge(input, down ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE, input->held->buttons, button, down);
}

int32_t tx_input_key(tx_input *input, int32_t keycode, int32_t down) {
    return noted_edge(input, down ? XCB_KEY_PRESS : XCB_KEY_RELEASE, input->held->keys, keycode, down);
}

int32_t tx_input_sync(tx_input *input) {
    /* Requests of one connection are carried out in order, so any reply proves that all before it were. */
    xcb_generic_error_t *error = NULL;
    xcb_get_input_focus_reply_t *reply = xcb_get_input_focus_reply(input->connection, xcb_get_input_focus(input->connection), &error);
    if (!reply)
        return tx_failure(input->connection, error);
    free(reply);
    return push(input);
}

int32_t tx_input_keys_down(tx_input *input, uint8_t *bits) {
    xcb_generic_error_t *error = NULL;
    xcb_query_keymap_reply_t *reply = xcb_query_keymap_reply(input->connection, xcb_query_keymap(input->connection), &error);
    if (!reply)
        return tx_failure(input->connection, error);
    memcpy(bits, reply->keys, sizeof reply->keys);
    free(reply);
    return 0;
}

int32_t tx_input_pointer(tx_input *input, int32_t *x, int32_t *y, uint32_t *buttons) {
    xcb_generic_error_t *error = NULL;
    xcb_query_pointer_reply_t *reply = xcb_query_pointer_reply(input->connection, xcb_query_pointer(input->connection, input->root), &error);
    if (!reply)
        return tx_failure(input->connection, error);
    *x = reply->root_x;
    *y = reply->root_y;
    *buttons = (reply->mask >> 8) & 0x1f;
    free(reply);
    return 0;
}
