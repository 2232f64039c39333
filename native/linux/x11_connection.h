/* Opening an X connection with a sentence for every way it can fail; shared by x11_capture.c and x11_input.c. */
#ifndef TRIPTYCH_X11_CONNECTION_H
#define TRIPTYCH_X11_CONNECTION_H

#include <stdint.h>
#include <xcb/xcb.h>

/* Connect to `display` (NULL: the environment's) and find its default screen. NULL with a sentence in `error` on failure. */
xcb_connection_t *tx_connect(const char *display, xcb_screen_t **screen, char *error, int32_t error_size);

/* Why a request brought no reply: TX_LOST when the connection is gone, TX_REFUSED otherwise. Frees `error`, which may be NULL. */
int32_t tx_failure(xcb_connection_t *connection, xcb_generic_error_t *error);

#endif
