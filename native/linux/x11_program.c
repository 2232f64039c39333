/* The processes at the two ends of a key: the program that has the keyboard, and the server. Contract: x11.h.
 *
 * The X-Resource extension names them, in one request that is written here by hand, rather than to need one more library for it. */
#include <stdlib.h>
#include <string.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>

#include "x11_connection.h"
#include "x11_input.h"

enum { QUERY_CLIENT_IDS = 4, LOCAL_PROCESS = 2 };

static xcb_extension_t resources = {"X-Resource", 0};

typedef struct {
    uint8_t major, minor;
    uint16_t length;
    uint32_t count, resource, wanted;
} client_ids_request;

typedef struct {
    xcb_generic_reply_t head;
    uint32_t count, unused[5];
    uint32_t resource, known, bytes, process; /* of the first, when there is one */
} client_ids_reply;

/* The window under the pointer within `window`, or that itself. */
static xcb_window_t innermost(xcb_connection_t *c, xcb_window_t window) {
    for (xcb_window_t child = window; child != XCB_NONE;) {
        window = child;
        xcb_query_pointer_reply_t *reply = xcb_query_pointer_reply(c, xcb_query_pointer(c, window), NULL);
        child = reply ? reply->child : XCB_NONE;
        free(reply);
    }
    return window;
}

/* The process of the client that made a resource; 0 when it is not of this machine, or the server does not say. */
static int32_t process_of(xcb_connection_t *c, uint32_t resource) {
    const xcb_query_extension_reply_t *extension = xcb_get_extension_data(c, &resources);
    if (!extension || !extension->present)
        return 0;
    const xcb_protocol_request_t kind = {.count = 2, .ext = &resources, .opcode = QUERY_CLIENT_IDS, .isvoid = 0};
    client_ids_request request = {.count = 1, .resource = resource, .wanted = LOCAL_PROCESS};
    struct iovec parts[4]; /* libxcb uses the two before the first that it is given */
    parts[2] = (struct iovec){.iov_base = &request, .iov_len = sizeof request};
    parts[3] = (struct iovec){.iov_base = NULL, .iov_len = 0};
    unsigned int sent = xcb_send_request(c, XCB_REQUEST_CHECKED, parts + 2, &kind);
    xcb_generic_error_t *error = NULL;
    client_ids_reply *reply = xcb_wait_for_reply(c, sent, &error);
    int32_t named = reply && reply->count && reply->head.length >= 4 && reply->bytes >= 4;
    int32_t process = named ? (int32_t)reply->process : 0;
    free(error);
    free(reply);
    return process;
}

int32_t tx_input_program(tx_input *input) {
    xcb_connection_t *c = input->connection;
    xcb_generic_error_t *error = NULL;
    xcb_get_input_focus_reply_t *focus = xcb_get_input_focus_reply(c, xcb_get_input_focus(c), &error);
    if (!focus)
        return tx_failure(c, error);
    xcb_window_t window = focus->focus;
    free(focus);
    if (window == XCB_NONE)
        return 0;
    if (window == XCB_INPUT_FOCUS_POINTER_ROOT)
        window = innermost(c, input->root);
    int32_t process = window == input->root ? 0 : process_of(c, window);
    return xcb_connection_has_error(c) ? TX_LOST : process;
}

int32_t tx_input_descriptor(tx_input *input) { return xcb_get_file_descriptor(input->connection); }
