/* The input handle, shared by x11_input.c (edges and state), x11_keymap.c (what the keys mean), x11_program.c
 * (who reads them) and x11_guard.c (undoing it all). */
#ifndef TRIPTYCH_X11_INPUT_H
#define TRIPTYCH_X11_INPUT_H

#include <xcb/xcb.h>

#include "x11.h"

enum { KEYCODES = 256 };

/* What a session has done to the display and must undo; in memory that its guard maps too. Noted before it is done, and struck out after it
 * is undone, so that whoever dies in between, the guard undoes it. */
typedef struct {
    xcb_window_t window; /* belongs to the session's connection: its end is the connection's */
    uint32_t token[4];   /* a property of that window: ids of windows are used again */
    uint8_t keys[KEYCODES / 8];
    uint8_t buttons[KEYCODES / 8];
    int32_t locks_due, group;
    uint32_t modifiers;
    xcb_keysym_t borrowed[KEYCODES]; /* the symbol that a spare keycode was given; 0 for the others */
} tx_held;

struct tx_input {
    xcb_connection_t *connection;
    xcb_window_t root;
    tx_held *held;
    uint32_t serial; /* counts the changes of the keymap */
    uint8_t keymap_event;
};

/* Negotiate XKB on the input connection, and ask to be told of changes; 0 when the server lacks it. */
int32_t tx_keymap_start(tx_input *input);

/* Map `memory`; NULL on failure. -1: memory that nobody shares. */
tx_held *tx_held_map(int32_t memory);
void tx_held_unmap(tx_held *held);

/* Make the window that lives as long as the connection of `input`, and note it. */
int32_t tx_held_begin(tx_input *input);

/* Release every noted button and key, in that order, and put the locks back; the notes are struck out. */
int32_t tx_held_release(tx_input *input);

#endif
