/* Keymap: which key, modifiers and layout group give a character, by the map that the X server uses at this moment. Contract: x11.h.
 *
 * The map is read afresh each time (1 to 2 ms): a copy would go stale with the first `setxkbmap`, and type wrong characters silently. */
#include <stdlib.h>
#include <xkbcommon/xkbcommon-keysyms.h>
#include <xkbcommon/xkbcommon-x11.h>
#include <xkbcommon/xkbcommon.h>
/* The generated header has a member with the name of a C++ keyword; in C it is plain. */
#include <xcb/xkb.h>

#include "x11_connection.h"
#include "x11_input.h"

enum { REAL_MODIFIERS = 8, SHIFT = 1, LOCK = 2, CONTROL = 4, MASKS = 16 };

int32_t tx_keymap_start(tx_input *input) {
    return xkb_x11_setup_xkb_extension(input->connection, XKB_X11_MIN_MAJOR_XKB_VERSION, XKB_X11_MIN_MINOR_XKB_VERSION,
                                       XKB_X11_SETUP_XKB_EXTENSION_NO_FLAGS, NULL, NULL, NULL, NULL);
}

int32_t tx_input_locks(tx_input *input, int32_t *group, uint32_t *modifiers) {
    xcb_connection_t *c = input->connection;
    xcb_generic_error_t *error = NULL;
    xcb_xkb_get_state_reply_t *state = xcb_xkb_get_state_reply(c, xcb_xkb_get_state(c, XCB_XKB_ID_USE_CORE_KBD), &error);
    if (!state)
        return tx_failure(c, error);
    *group = state->lockedGroup;
    *modifiers = state->lockedMods;
    free(state);
    return 0;
}

int32_t tx_input_lock(tx_input *input, int32_t group, uint32_t modifiers) {
    xcb_connection_t *c = input->connection;
    const uint8_t all = 0xff;
    xcb_generic_error_t *error = xcb_request_check(c, xcb_xkb_latch_lock_state_checked(c, XCB_XKB_ID_USE_CORE_KBD, all, (uint8_t)modifiers, 1,
                                                                                       (uint8_t)group, all, 1, 0));
    return error || xcb_connection_has_error(c) ? tx_failure(c, error) : 0;
}

/* ---- reading the map ---- */

static uint32_t real(xkb_mod_mask_t mask) { return mask & ((1u << REAL_MODIFIERS) - 1); }

static int32_t bits(uint32_t mask) { return mask ? (int32_t)(mask & 1) + bits(mask >> 1) : 0; }

/* The modifier that a key holds while pressed, as one bit; 0 for every key that holds none or several, latches, or locks. The compiled map
 * does not show its actions, so the key is pressed and released in a state of our own. */
static uint32_t held_by(struct xkb_keymap *map, xkb_keycode_t keycode) {
    struct xkb_state *state = xkb_state_new(map);
    if (!state)
        return 0;
    xkb_state_update_key(state, keycode, XKB_KEY_DOWN);
    uint32_t held = real(xkb_state_serialize_mods(state, XKB_STATE_MODS_DEPRESSED));
    xkb_state_update_key(state, keycode, XKB_KEY_UP);
    uint32_t left = real(xkb_state_serialize_mods(state, XKB_STATE_MODS_EFFECTIVE));
    xkb_state_unref(state);
    return bits(held) == 1 && left == 0 ? held : 0;
}

static void find_holders(struct xkb_keymap *map, int32_t *holders) {
    for (int32_t i = 0; i < REAL_MODIFIERS; i++)
        holders[i] = 0;
    for (xkb_keycode_t keycode = xkb_keymap_min_keycode(map); keycode <= xkb_keymap_max_keycode(map); keycode++) {
        uint32_t held = held_by(map, keycode);
        for (int32_t i = 0; i < REAL_MODIFIERS; i++)
            if (held == 1u << i && !holders[i])
                holders[i] = (int32_t)keycode;
    }
}

/* The fewest modifiers that select the level, all of them holdable. Lock is out, since only locking sets it, and so is Control, since
 * programs read it as a command. Returns 0 when there is no such set. */
static int32_t modifiers_for(struct xkb_keymap *map, xkb_keycode_t keycode, int32_t group, int32_t level, const int32_t *holders, uint32_t *found) {
    xkb_mod_mask_t masks[MASKS];
    size_t count = xkb_keymap_key_get_mods_for_level(map, keycode, (xkb_layout_index_t)group, (xkb_level_index_t)level, masks, MASKS);
    int32_t best = REAL_MODIFIERS + 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t mask = real(masks[i]);
        int32_t holdable = mask == masks[i] && !(mask & (LOCK | CONTROL));
        for (int32_t bit = 0; bit < REAL_MODIFIERS; bit++)
            if ((mask & 1u << bit) && !holders[bit])
                holdable = 0;
        if (holdable && bits(mask) < best) {
            best = bits(mask);
            *found = mask;
        }
    }
    return best <= REAL_MODIFIERS;
}

/* The character of one level, or 0. Keypad keys are left out: what they type depends on NumLock. */
static uint32_t character(struct xkb_keymap *map, xkb_keycode_t keycode, int32_t group, int32_t level) {
    const xkb_keysym_t *symbols;
    int32_t count = xkb_keymap_key_get_syms_by_level(map, keycode, (xkb_layout_index_t)group, (xkb_level_index_t)level, &symbols);
    if (count != 1 || (symbols[0] >= XKB_KEY_KP_Space && symbols[0] <= XKB_KEY_KP_Equal))
        return 0;
    uint32_t codepoint = xkb_keysym_to_utf32(symbols[0]);
    int32_t control = codepoint < 0x20 || codepoint == 0x7f;
    return control && symbols[0] != XKB_KEY_Return && symbols[0] != XKB_KEY_Tab ? 0 : codepoint;
}

static int32_t find_reaches(struct xkb_keymap *map, const int32_t *holders, tx_reach *reaches, int32_t room) {
    int32_t count = 0;
    for (int32_t group = 0; group < (int32_t)xkb_keymap_num_layouts(map); group++)
        for (xkb_keycode_t keycode = xkb_keymap_min_keycode(map); keycode <= xkb_keymap_max_keycode(map); keycode++) {
            /* A key with fewer groups than the map answers for the others too, as the server has it: libxkbcommon wraps the index. */
            int32_t levels = (int32_t)xkb_keymap_num_levels_for_key(map, keycode, (xkb_layout_index_t)group);
            for (int32_t level = 0; level < levels; level++) {
                tx_reach reach = {character(map, keycode, group, level), 0, (int32_t)keycode, group};
                if (!reach.codepoint || !modifiers_for(map, keycode, group, level, holders, &reach.modifiers))
                    continue;
                if (count < room)
                    reaches[count] = reach;
                count++;
            }
        }
    return count;
}

int32_t tx_input_keymap(tx_input *input, tx_reach *reaches, int32_t room, int32_t *holders) {
    xcb_connection_t *c = input->connection;
    int32_t device = xkb_x11_get_core_keyboard_device_id(c);
    if (device < 0)
        return xcb_connection_has_error(c) ? TX_LOST : TX_ABSENT;
    struct xkb_context *context = xkb_context_new(XKB_CONTEXT_NO_DEFAULT_INCLUDES);
    struct xkb_keymap *map = context ? xkb_x11_keymap_new_from_device(context, c, device, XKB_KEYMAP_COMPILE_NO_FLAGS) : NULL;
    int32_t count = xcb_connection_has_error(c) ? TX_LOST : TX_ABSENT;
    if (map) {
        find_holders(map, holders);
        count = find_reaches(map, holders, reaches, room);
    }
    xkb_keymap_unref(map);
    xkb_context_unref(context);
    return count;
}
