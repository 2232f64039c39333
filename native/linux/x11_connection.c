#include "x11_connection.h"

#include <stdio.h>
#include <stdlib.h>

#include "x11.h"

static const char *why(int32_t code) {
    switch (code) {
    case XCB_CONN_CLOSED_PARSE_ERR:
        return "the display name cannot be parsed";
    case XCB_CONN_CLOSED_INVALID_SCREEN:
        return "the display has no such screen";
    case XCB_CONN_CLOSED_MEM_INSUFFICIENT:
        return "out of memory";
    default:
        /* libxcb reports a missing socket and a refused cookie alike. */
        return "no server answers there, or it refuses our authority";
    }
}

xcb_connection_t *tx_connect(const char *display, xcb_screen_t **screen, char *error, int32_t error_size) {
    int number = 0;
    /* Never NULL: a failed connection is an object in the error state, and must be disconnected all the same. */
    xcb_connection_t *connection = xcb_connect(display, &number);
    int32_t code = xcb_connection_has_error(connection);
    if (code == 0) {
        xcb_screen_iterator_t screens = xcb_setup_roots_iterator(xcb_get_setup(connection));
        for (; screens.rem && number > 0; number--)
            xcb_screen_next(&screens);
        if (screens.rem) {
            *screen = screens.data;
            return connection;
        }
        code = XCB_CONN_CLOSED_INVALID_SCREEN;
    }
    snprintf(error, (size_t)error_size, "%s", why(code));
    xcb_disconnect(connection);
    return NULL;
}

int32_t tx_failure(xcb_connection_t *connection, xcb_generic_error_t *error) {
    free(error);
    return xcb_connection_has_error(connection) ? TX_LOST : TX_REFUSED;
}
