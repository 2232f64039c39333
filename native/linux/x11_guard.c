/* The guard of a session: what its process had pressed, locked or borrowed is undone when the process or its connection is gone. Contract: x11.h.
 *
 * An X server keeps a key down, and a keymap changed, after the client that did it is gone. The notes are in memory that both processes map,
 * so guarding costs the session no system call. Order matters at the end: the server first carries out what the dead process had still sent,
 * then closes its connection, which destroys its window; only then does the guard undo. A connection that a forked child keeps open is closed
 * by force. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <xcb/xcb.h>
#include <xcb/xtest.h>

#include "x11_connection.h"
#include "x11_input.h"

enum {
    LINGER_MS = 1000, /* how long a server that answers may take to see that a dead process has closed its connection */
    SETTLE_MS = 50,   /* how long programs may still look up the symbols of keys that were struck before */
    TOKEN_WORDS = 4,
};

static const char PROPERTY[] = "_TRIPTYCH_INPUT";

/* ---- notes ---- */

int32_t tx_held_bytes(void) { return (int32_t)sizeof(tx_held); }

tx_held *tx_held_map(int32_t memory) {
    int flags = memory < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *held = mmap(NULL, sizeof(tx_held), PROT_READ | PROT_WRITE, flags, memory, 0);
    return held == MAP_FAILED ? NULL : held;
}

void tx_held_unmap(tx_held *held) { munmap(held, sizeof *held); }

static xcb_atom_t property_of(xcb_connection_t *c) {
    xcb_intern_atom_reply_t *reply = xcb_intern_atom_reply(c, xcb_intern_atom(c, 0, sizeof PROPERTY - 1, PROPERTY), NULL);
    xcb_atom_t atom = reply ? reply->atom : (xcb_atom_t)XCB_ATOM_NONE;
    free(reply);
    return atom;
}

int32_t tx_held_begin(tx_input *input) {
    xcb_connection_t *c = input->connection;
    tx_held *held = input->held;
    xcb_atom_t atom = property_of(c);
    if (atom == XCB_ATOM_NONE || getrandom(held->token, sizeof held->token, 0) != sizeof held->token)
        return TX_REFUSED;
    xcb_window_t window = xcb_generate_id(c);
    const uint32_t unmanaged = 1;
    xcb_create_window(c, 0, window, input->root, -1, -1, 1, 1, 0, XCB_WINDOW_CLASS_INPUT_ONLY, XCB_COPY_FROM_PARENT, XCB_CW_OVERRIDE_REDIRECT,
                      &unmanaged);
    xcb_change_property(c, XCB_PROP_MODE_REPLACE, window, atom, XCB_ATOM_CARDINAL, 32, TOKEN_WORDS, held->token);
    int32_t status = tx_input_sync(input);
    held->window = window;
    return status;
}

static int32_t release(tx_input *input, uint8_t *noted, int32_t (*edge)(tx_input *, int32_t, int32_t)) {
    int32_t status = 0;
    for (int32_t code = 0; code < KEYCODES && status == 0; code++)
        if (noted[code / 8] & 1u << code % 8)
            status = edge(input, code, 0);
    return status;
}

int32_t tx_held_release(tx_input *input) {
    tx_held *held = input->held;
    int32_t status = release(input, held->buttons, tx_input_button);
    if (status == 0)
        status = release(input, held->keys, tx_input_key);
    if (status == 0 && held->locks_due)
        status = tx_input_lock(input, held->group, held->modifiers);
    if (status == 0)
        held->locks_due = 0;
    return status < 0 ? status : tx_input_sync(input);
}

/* ---- the watch ---- */

static int32_t is_theirs(xcb_connection_t *c, const tx_held *held, xcb_atom_t atom) {
    xcb_get_property_reply_t *reply =
        xcb_get_property_reply(c, xcb_get_property(c, 0, held->window, atom, XCB_ATOM_CARDINAL, 0, TOKEN_WORDS), NULL);
    int32_t same = reply && xcb_get_property_value_length(reply) == (int)sizeof held->token &&
                   memcmp(xcb_get_property_value(reply), held->token, sizeof held->token) == 0;
    free(reply);
    return same;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sleep until the window of the session is gone, `process` (when not negative) is, or `wait_ms` (when not negative) passed. Returns 1 when the
 * window is gone, TX_LOST with the server, else 0. */
static int32_t await_end(tx_input *guard, int32_t process, int32_t wait_ms) {
    xcb_connection_t *c = guard->connection;
    const int64_t until = now_ms() + wait_ms;
    for (;;) {
        xcb_generic_event_t *event;
        while ((event = xcb_poll_for_event(c))) {
            int32_t gone = (event->response_type & 0x7f) == XCB_DESTROY_NOTIFY &&
                           ((xcb_destroy_notify_event_t *)event)->window == guard->held->window;
            free(event);
            if (gone)
                return 1;
        }
        if (xcb_connection_has_error(c))
            return TX_LOST;
        int64_t left = until - now_ms();
        if (wait_ms >= 0 && left <= 0)
            return 0;
        struct pollfd descriptors[] = {{xcb_get_file_descriptor(c), POLLIN, 0}, {process, POLLIN, 0}};
        if (poll(descriptors, 2, wait_ms < 0 ? -1 : (int)left) > 0 && descriptors[1].revents)
            return 0;
    }
}

/* From here on the server carries nothing more out for the session. */
static int32_t await_silence(tx_input *guard, int32_t process) {
    xcb_connection_t *c = guard->connection;
    xcb_atom_t atom = property_of(c);
    const uint32_t structure = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
    xcb_change_window_attributes(c, guard->held->window, XCB_CW_EVENT_MASK, &structure);
    /* A window of another client, when the session's was gone before the guard came. */
    if (!is_theirs(c, guard->held, atom))
        return xcb_connection_has_error(c) ? TX_LOST : 0;
    int32_t gone = await_end(guard, process, -1);
    /* A server that hangs does not see the end either, so the time runs from its next answer. */
    if (gone == 0 && tx_input_sync(guard) == 0)
        gone = is_theirs(c, guard->held, atom) ? await_end(guard, -1, LINGER_MS) : 1;
    if (gone == 0) {
        xcb_grab_server(c);
        if (is_theirs(c, guard->held, atom))
            xcb_kill_client(c, guard->held->window);
        xcb_ungrab_server(c);
    }
    return xcb_connection_has_error(c) ? TX_LOST : 0;
}

static int32_t undo(tx_input *guard) {
    const tx_held *held = guard->held;
    int32_t status = tx_held_release(guard), borrowed = 0;
    for (int32_t code = 0; code < KEYCODES; code++)
        borrowed |= held->borrowed[code] != 0;
    if (status < 0 || !borrowed)
        return status;
    const struct timespec settle = {0, SETTLE_MS * 1000000L};
    nanosleep(&settle, NULL);
    return tx_input_give_back(guard);
}

int32_t tx_guard(const char *display, int32_t memory, int32_t process) {
    const int orderly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for (size_t i = 0; i < sizeof orderly / sizeof *orderly; i++)
        signal(orderly[i], SIG_IGN);
    prctl(PR_SET_NAME, "triptych-guard");
    char error[256];
    tx_input *guard = tx_input_open(display, -1, error, sizeof error);
    if (!guard)
        return TX_LOST;
    tx_held_unmap(guard->held);
    guard->held = tx_held_map(memory);
    int32_t status = guard->held ? await_silence(guard, process) : TX_REFUSED;
    if (status == 0)
        status = undo(guard);
    if (guard->held)
        tx_input_close(guard);
    return status;
}
