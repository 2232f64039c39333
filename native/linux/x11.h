/* The X11 helper's whole interface: capture of the root window, and input through XTEST. Called by adapters/desklink/x11_*.py only.
 *
 * Capture and input each have a connection of their own, so that no key ever waits behind a picture. A handle may be used by one thread at
 * a time; the Python face holds the lock. Every call may block on the X server and none holds the interpreter lock (cffi, API mode).
 * Only fixed-width types cross this line. Functions return 0 or more on success, else one of `tx_status`; none of them ever exits the
 * process, as Xlib's error handlers do, and each is safe on a connection that is already lost.
 */
#ifndef TRIPTYCH_X11_H
#define TRIPTYCH_X11_H

#include <stdint.h>

#include "../common/tiles.h"

enum tx_status {
    TX_LOST = -1,    /* the connection to the X server is gone */
    TX_REFUSED = -2, /* the server answered with an error */
    TX_RESIZED = -3, /* the root window has another size now: read tx_capture_size and share memory for it */
    TX_WOKEN = -4,   /* the wake descriptor became readable */
    TX_ABSENT = -5,  /* the server lacks the extension, or the map the key */
};

/* ---- capture ---- */

typedef struct tx_capture tx_capture;

/* Connect and watch the root window for damage and resizes. `display` may be NULL (the environment's). Returns NULL with a sentence in
 * `error` when the display cannot be opened, or its pixels are not 24-bit BGRX in 32. */
tx_capture *tx_capture_open(const char *display, char *error, int32_t error_size);
void tx_capture_close(tx_capture *capture);

/* The root window's present size. */
void tx_capture_size(const tx_capture *capture, int32_t *width, int32_t *height);

/* Give `length` bytes at `memory`, the mapping of the memory file `fd`, as the place that pictures are written to; the earlier one is let
 * go. The descriptor stays the caller's. Returns 1 when the server maps the file too and writes into it by itself (MIT-SHM), 0 when pictures
 * will be copied through the socket instead. `memory` must stay mapped until the next share or close. */
int32_t tx_capture_share(tx_capture *capture, int32_t fd, uint8_t *memory, uint64_t length);

/* The whole root window, rows tight, into the shared memory. TX_RESIZED when it does not have the size that was told, or does not fit. */
int32_t tx_capture_grab(tx_capture *capture);

/* Bring `kept` (tight rows, the root's size) up to date inside `boxes` and mark the tiles that changed. The shared memory is the staging
 * area. Boxes must lie inside the root window. */
int32_t tx_capture_refresh(tx_capture *capture, uint8_t *kept, const tx_box *boxes, int32_t count, uint8_t *changed);

/* Sleep until something was drawn and return up to `room` boxes that cover it (0 when `timeout_ms` passed; negative waits for ever).
 * A readable `wake_fd` ends the wait with TX_WOKEN at once and is not read; -1 for none. After a resize: TX_RESIZED. */
int32_t tx_capture_wait(tx_capture *capture, int32_t wake_fd, int32_t timeout_ms, tx_box *boxes, int32_t room);

/* ---- input ---- */

typedef struct tx_input tx_input;

/* How many bytes of a memory file hold what a session has done to the display and must undo: keys, buttons, locks, borrowed keycodes. */
int32_t tx_held_bytes(void);

/* `memory` is a zeroed memory file of tx_held_bytes() bytes in which every edge is noted before it is sent, for the guard that maps it too;
 * the descriptor stays the caller's. -1: nobody guards. */
tx_input *tx_input_open(const char *display, int32_t memory, char *error, int32_t error_size);
void tx_input_close(tx_input *input);

/* One physical edge each, sent at once and not waited for; the loss of the connection is reported by this call or the next one. */
int32_t tx_input_move(tx_input *input, int32_t x, int32_t y);
int32_t tx_input_button(tx_input *input, int32_t button, int32_t down);
int32_t tx_input_key(tx_input *input, int32_t keycode, int32_t down);

/* Take what arrived, without asking the server anything: it only tells of changes of the keymap. TX_LOST when the connection is gone, else 0. */
int32_t tx_input_drain(tx_input *input);

/* Wait until the server has acted on everything sent so far. */
int32_t tx_input_sync(tx_input *input);

/* The server's logical key state: bit (k % 8) of bits[k / 8] is set while keycode k is down. `bits` has 32 bytes. */
int32_t tx_input_keys_down(tx_input *input, uint8_t *bits);

/* Pointer position on the root window and the mask of held buttons (bit 0 = button 1). */
int32_t tx_input_pointer(tx_input *input, int32_t *x, int32_t *y, uint32_t *buttons);

/* Which layout group and which modifiers (Shift 1, Lock 2, Control 4, Mod1 8 … Mod5 128) are locked. Latches are not reported. `serial` is
 * another number than before when the keymap was changed in between, by anybody. */
int32_t tx_input_locks(tx_input *input, int32_t *group, uint32_t *modifiers, uint32_t *serial);

/* Lock `group`, and exactly `modifiers` among the real modifiers, and clear any latch; waits until it is so. */
int32_t tx_input_lock(tx_input *input, int32_t group, uint32_t modifiers);

/* Note for the guard that these locks are to be put back (`due` 1), or that they were (0). */
void tx_input_note_locks(tx_input *input, int32_t due, int32_t group, uint32_t modifiers);

/* One way to type a character: with `group` locked, hold keys for `modifiers`, press `keycode`. */
typedef struct {
    uint32_t codepoint;
    uint32_t modifiers;
    int32_t keycode;
    int32_t group;
} tx_reach;

/* Read the server's keymap as it is now, for a time when exactly `locked` modifiers are locked. Writes up to `room` ways, in the order group,
 * keycode, level, and in holders[0..7] the lowest keycode that holds that real modifier alone, and only while pressed, or 0. Returns the
 * number of ways there are, which may exceed `room`. */
int32_t tx_input_keymap(tx_input *input, uint32_t locked, tx_reach *reaches, int32_t room, int32_t *holders);

/* The keycodes without a symbol that hold no modifier, ascending; returns how many (at most 248) were written. */
int32_t tx_input_spares(tx_input *input, uint8_t *keycodes);

/* Whether a symbol can be borrowed for the character. */
int32_t tx_input_has_symbol(uint32_t codepoint);

/* Give each spare keycode the symbol of the code point beside it, in every level, and wait until it is so. */
int32_t tx_input_borrow(tx_input *input, const uint8_t *keycodes, const uint32_t *codepoints, int32_t count);

/* The process of the program that has the keyboard; 0 when there is none, or it is not of this machine, or the server does not say. */
int32_t tx_input_program(tx_input *input);

/* The descriptor of the connection; it stays ours. */
int32_t tx_input_descriptor(tx_input *input);

/* Make every borrowed keycode empty again, unless somebody has given it another symbol meanwhile, and wait until it is so. */
int32_t tx_input_give_back(tx_input *input);

/* Guard a session: wait until the process of `process` (a pidfd), or the connection that wrote `memory`, is gone; undo what it noted; return
 * 0. Runs in a process of its own, which outlives the session's; signals that end a process in an orderly way are ignored from here on. */
int32_t tx_guard(const char *display, int32_t memory, int32_t process);

#endif
