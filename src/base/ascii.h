// SPDX-License-Identifier: Apache-2.0
/*
 * Classes of ASCII characters and hexadecimal digits. The functions of <ctype.h> ask the locale,
 * which the command line sets; these do not, and take any char. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_is_letter_or_digit(char c)
{
    return ascii_is_letter(c) || ascii_is_digit(c);
}

/** Blank, tab, line feed, vertical tab, form feed, carriage return. */
static inline bool ascii_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/** Printable, and not a blank. */
static inline bool ascii_is_graphic(char c)
{
    return c > ' ' && c <= '~';
}

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline char ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/** Value of a hexadecimal digit in either case, or -1. */
static inline int ascii_hex_value(char c)
{
    char lower = ascii_lower(c);
    return ascii_is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/** Value of two hexadecimal digits, or -1. The second is not read after a first that is none. */
static inline int ascii_hex_byte(const char *digits)
{
    int high = ascii_hex_value(digits[0]);
    int low = high < 0 ? -1 : ascii_hex_value(digits[1]);
    return low < 0 ? -1 : high * 16 + low;
}

/** Whether a text is a token of HTTP (RFC 9110, 5.6.2), as names of header fields are. NULL is
 * none. */
static inline bool ascii_is_token(const char *text)
{
    static const char allowed[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return text != NULL && text[0] != '\0' && text[strspn(text, allowed)] == '\0';
}
