/* The input handle, shared by x11_input.c (edges and state) and x11_keymap.c (what the keys mean). */
#ifndef TRIPTYCH_X11_INPUT_H
#define TRIPTYCH_X11_INPUT_H

#include <xcb/xcb.h>

#include "x11.h"

struct tx_input {
    xcb_connection_t *connection;
    xcb_window_t root;
};

/* Negotiate XKB on the input connection; 0 when the server lacks it. */
int32_t tx_keymap_start(tx_input *input);

#endif
