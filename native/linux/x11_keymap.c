/* Keymap: which key, modifiers and layout group give a character, by the map that the X server uses at this moment, and keys borrowed for the
 * characters that no key gives. Contract: x11.h.
 *
 * Reading the map takes 1 to 2 ms, so a caller may keep what it read for as long as the serial of tx_input_locks stays the same: that call
 * takes a round trip, and every change of the map is announced before its answer. */
#include <stdlib.h>
#include <string.h>
#include <xkbcommon/xkbcommon-keysyms.h>
#include <xkbcommon/xkbcommon-x11.h>
#include <xkbcommon/xkbcommon.h>
/* The generated header has a member with the name of a C++ keyword; in C it is plain. */
#include <xcb/xkb.h>

#include "x11_connection.h"
#include "x11_input.h"

enum { REAL_MODIFIERS = 8, SHIFT = 1, LOCK = 2, CONTROL = 4, MASKS = 16 };

int32_t tx_keymap_start(tx_input *input) {
    xcb_connection_t *c = input->connection;
    const uint16_t news = XCB_XKB_EVENT_TYPE_NEW_KEYBOARD_NOTIFY | XCB_XKB_EVENT_TYPE_MAP_NOTIFY, all = 0xff;
    if (!xkb_x11_setup_xkb_extension(c, XKB_X11_MIN_MAJOR_XKB_VERSION, XKB_X11_MIN_MINOR_XKB_VERSION, XKB_X11_SETUP_XKB_EXTENSION_NO_FLAGS, NULL,
                                     NULL, &input->keymap_event, NULL))
        return 0;
    xcb_xkb_select_events(c, XCB_XKB_ID_USE_CORE_KBD, news, 0, news, all, all, NULL);
    return 1;
}

int32_t tx_input_locks(tx_input *input, int32_t *group, uint32_t *modifiers, uint32_t *serial) {
    xcb_connection_t *c = input->connection;
    xcb_generic_error_t *error = NULL;
    xcb_xkb_get_state_reply_t *state = xcb_xkb_get_state_reply(c, xcb_xkb_get_state(c, XCB_XKB_ID_USE_CORE_KBD), &error);
    if (!state)
        return tx_failure(c, error);
    *group = state->lockedGroup;
    *modifiers = state->lockedMods;
    free(state);
    int32_t status = tx_input_drain(input);
    *serial = input->serial;
    return status;
}

int32_t tx_input_lock(tx_input *input, int32_t group, uint32_t modifiers) {
    xcb_connection_t *c = input->connection;
    const uint8_t all = 0xff;
    xcb_generic_error_t *error = xcb_request_check(c, xcb_xkb_latch_lock_state_checked(c, XCB_XKB_ID_USE_CORE_KBD, all, (uint8_t)modifiers, 1,
                                                                                       (uint8_t)group, all, 1, 0));
    return error || xcb_connection_has_error(c) ? tx_failure(c, error) : 0;
}

void tx_input_note_locks(tx_input *input, int32_t due, int32_t group, uint32_t modifiers) {
    input->held->group = group;
    input->held->modifiers = modifiers;
    input->held->locks_due = due;
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

static int32_t holdable(uint32_t mask, const int32_t *holders) {
    for (int32_t bit = 0; bit < REAL_MODIFIERS; bit++)
        if ((mask & 1u << bit) && !holders[bit])
            return 0;
    /* Only locking sets Lock, and programs read Control as a command. */
    return !(mask & (LOCK | CONTROL));
}

/* The fewest modifiers that select the level, all of them holdable. Returns 0 when there is no such set. */
static int32_t modifiers_for(struct xkb_keymap *map, const tx_reach *reach, int32_t level, const int32_t *holders, uint32_t *found) {
    xkb_mod_mask_t masks[MASKS];
    size_t count = xkb_keymap_key_get_mods_for_level(map, (xkb_keycode_t)reach->keycode, (xkb_layout_index_t)reach->group,
                                                     (xkb_level_index_t)level, masks, MASKS);
    int32_t best = REAL_MODIFIERS + 1;
    for (size_t i = 0; i < count; i++)
        if (real(masks[i]) == masks[i] && holdable(masks[i], holders) && bits(masks[i]) < best) {
            best = bits(masks[i]);
            *found = masks[i];
        }
    return best <= REAL_MODIFIERS;
}

/* The same while `locked` are locked. Which level the modifiers select together, and whether CapsLock makes a capital of what it has, only the
 * whole state of a keyboard says, so each set is tried. */
static int32_t modifiers_while(struct xkb_state *state, const tx_reach *reach, uint32_t locked, const int32_t *holders, uint32_t *found) {
    int32_t best = REAL_MODIFIERS + 1;
    for (uint32_t mask = 0; mask < 1u << REAL_MODIFIERS; mask++) {
        if (!holdable(mask, holders) || bits(mask) >= best)
            continue;
        xkb_state_update_mask(state, mask, 0, locked, 0, 0, (xkb_layout_index_t)reach->group);
        if (xkb_state_key_get_utf32(state, (xkb_keycode_t)reach->keycode) == reach->codepoint) {
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

static int32_t find_reaches(struct xkb_keymap *map, struct xkb_state *state, uint32_t locked, const int32_t *holders, tx_reach *reaches,
                            int32_t room) {
    int32_t count = 0;
    for (int32_t group = 0; group < (int32_t)xkb_keymap_num_layouts(map); group++)
        for (xkb_keycode_t keycode = xkb_keymap_min_keycode(map); keycode <= xkb_keymap_max_keycode(map); keycode++) {
            /* A key with fewer groups than the map answers for the others too, as the server has it: libxkbcommon wraps the index. */
            int32_t levels = (int32_t)xkb_keymap_num_levels_for_key(map, keycode, (xkb_layout_index_t)group);
            for (int32_t level = 0; level < levels; level++) {
                tx_reach reach = {character(map, keycode, group, level), 0, (int32_t)keycode, group};
                if (!reach.codepoint || !(locked ? modifiers_while(state, &reach, locked, holders, &reach.modifiers)
                                                 : modifiers_for(map, &reach, level, holders, &reach.modifiers)))
                    continue;
                if (count < room)
                    reaches[count] = reach;
                count++;
            }
        }
    return count;
}

int32_t tx_input_keymap(tx_input *input, uint32_t locked, tx_reach *reaches, int32_t room, int32_t *holders) {
    xcb_connection_t *c = input->connection;
    int32_t device = xkb_x11_get_core_keyboard_device_id(c);
    if (device < 0)
        return xcb_connection_has_error(c) ? TX_LOST : TX_ABSENT;
    struct xkb_context *context = xkb_context_new(XKB_CONTEXT_NO_DEFAULT_INCLUDES);
    struct xkb_keymap *map = context ? xkb_x11_keymap_new_from_device(context, c, device, XKB_KEYMAP_COMPILE_NO_FLAGS) : NULL;
    struct xkb_state *state = map ? xkb_state_new(map) : NULL;
    int32_t count = xcb_connection_has_error(c) ? TX_LOST : TX_ABSENT;
    if (state) {
        find_holders(map, holders);
        count = find_reaches(map, state, locked, holders, reaches, room);
    }
    xkb_state_unref(state);
    xkb_keymap_unref(map);
    xkb_context_unref(context);
    return count;
}

/* ---- borrowing keys ---- */

static xcb_get_keyboard_mapping_reply_t *symbols(xcb_connection_t *c, xcb_generic_error_t **error) {
    const xcb_setup_t *setup = xcb_get_setup(c);
    uint8_t count = (uint8_t)(setup->max_keycode - setup->min_keycode + 1);
    return xcb_get_keyboard_mapping_reply(c, xcb_get_keyboard_mapping(c, setup->min_keycode, count), error);
}

static void mark_modifier_keys(xcb_connection_t *c, uint8_t *taken) {
    xcb_get_modifier_mapping_reply_t *map = xcb_get_modifier_mapping_reply(c, xcb_get_modifier_mapping(c), NULL);
    if (!map)
        return;
    const xcb_keycode_t *codes = xcb_get_modifier_mapping_keycodes(map);
    for (int i = 0; i < xcb_get_modifier_mapping_keycodes_length(map); i++)
        taken[codes[i]] = 1;
    free(map);
}

int32_t tx_input_spares(tx_input *input, uint8_t *keycodes) {
    xcb_connection_t *c = input->connection;
    xcb_generic_error_t *error = NULL;
    uint8_t taken[KEYCODES] = {0};
    mark_modifier_keys(c, taken);
    xcb_get_keyboard_mapping_reply_t *map = symbols(c, &error);
    if (!map)
        return tx_failure(c, error);
    const xcb_keysym_t *all = xcb_get_keyboard_mapping_keysyms(map);
    int32_t width = map->keysyms_per_keycode, first = xcb_get_setup(c)->min_keycode, count = 0;
    for (int32_t key = 0; width && key < xcb_get_keyboard_mapping_keysyms_length(map) / width; key++) {
        int32_t empty = !taken[first + key];
        for (int32_t i = 0; i < width; i++)
            empty = empty && all[key * width + i] == XKB_KEY_NoSymbol;
        if (empty)
            keycodes[count++] = (uint8_t)(first + key);
    }
    free(map);
    return count;
}

int32_t tx_input_has_symbol(uint32_t codepoint) { return codepoint >= 0x20 && xkb_utf32_to_keysym(codepoint) != XKB_KEY_NoSymbol; }

int32_t tx_input_borrow(tx_input *input, const uint8_t *keycodes, const uint32_t *codepoints, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        xcb_keysym_t symbol = xkb_utf32_to_keysym(codepoints[i]);
        /* Twice the same: a held Shift changes nothing. */
        const xcb_keysym_t levels[] = {symbol, symbol};
        input->held->borrowed[keycodes[i]] = symbol;
        xcb_change_keyboard_mapping(input->connection, 1, keycodes[i], 2, levels);
    }
    return tx_input_sync(input);
}

int32_t tx_input_give_back(tx_input *input) {
    xcb_connection_t *c = input->connection;
    xcb_generic_error_t *error = NULL;
    xcb_keysym_t *borrowed = input->held->borrowed;
    xcb_get_keyboard_mapping_reply_t *map = symbols(c, &error);
    if (!map)
        return tx_failure(c, error);
    const xcb_keysym_t *all = xcb_get_keyboard_mapping_keysyms(map);
    int32_t width = map->keysyms_per_keycode, first = xcb_get_setup(c)->min_keycode;
    for (int32_t key = first; key < KEYCODES; key++) {
        const xcb_keysym_t nothing = XKB_KEY_NoSymbol;
        if (borrowed[key] && width && all[(key - first) * width] == borrowed[key])
            xcb_change_keyboard_mapping(c, 1, (xcb_keycode_t)key, 1, &nothing);
    }
    free(map);
    int32_t status = tx_input_sync(input);
    if (status == 0)
        memset(borrowed, 0, sizeof input->held->borrowed);
    return status;
}
