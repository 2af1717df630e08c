// SPDX-License-Identifier: Apache-2.0
/* Words that occur in most texts of English, German, French, Spanish, Italian, Portuguese or Dutch,
 * and so find nothing. Read-only data; any thread. */
#include "memory/words.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
/** Sorted by bytes. */
static const char *const stop_words[] = {
    "a", "aan", "aber", "about", "al", "all", "alla", "als", "also", "am", "an", "and", "any",
    "ao", "aos", "are", "as", "at", "au", "auch", "auf", "aus", "aux", "avec", "be", "been", "bei",
    "bij", "bin", "bis", "but", "by", "can", "ce", "ces", "che", "chi", "ci", "com", "come",
    "comment", "como", "con", "cosa", "could", "cual", "cuando", "cuándo", "cómo", "da", "dal",
    "dans", "das", "dass", "dat", "de", "dei", "del", "della", "dem", "den", "der", "des", "di",
    "did", "die", "dies", "dit", "do", "doch", "does", "donde", "dos", "dove", "du", "durch",
    "dónde", "e", "een", "ein", "eine", "einem", "einen", "einer", "el", "ela", "ele", "ella",
    "elle", "em", "en", "er", "es", "essa", "esse", "est", "esta", "este", "et", "eu", "eux",
    "for", "from", "für", "gli", "ha", "habe", "haben", "had", "has", "hat", "have", "hay", "he",
    "her", "het", "hij", "him", "his", "ho", "hoe", "how", "i", "ich", "if", "ihr", "ik", "il",
    "ils", "im", "in", "into", "is", "ist", "it", "its", "ja", "je", "just", "kan", "kann", "la",
    "las", "le", "les", "leur", "lo", "los", "lui", "ma", "maar", "mais", "man", "mas", "me",
    "mein", "mes", "met", "mi", "mit", "mon", "muss", "muy", "my", "na", "naar", "nach", "nas",
    "ne", "nel", "nicht", "niet", "no", "noch", "non", "nos", "not", "notre", "nous", "nur", "o",
    "ob", "oder", "of", "om", "on", "onde", "ook", "op", "or", "os", "ou", "our", "où", "par",
    "para", "pas", "per", "pero", "por", "pour", "quand", "quando", "que", "quel", "quelle", "qui",
    "quien", "qué", "sa", "se", "sem", "ses", "seu", "she", "should", "si", "sich", "sie", "sin",
    "sind", "so", "soll", "some", "son", "sono", "sont", "su", "sua", "sur", "sus", "são", "ta",
    "te", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to",
    "too", "tot", "tu", "um", "uma", "un", "una", "und", "une", "uno", "uns", "up", "us", "van",
    "vom", "von", "voor", "vor", "vos", "votre", "vous", "waar", "wanneer", "war", "warum", "was",
    "wat", "we", "wenn", "wer", "werden", "were", "what", "when", "where", "which", "who", "why",
    "wie", "wij", "will", "wir", "wird", "with", "wo", "would", "y", "ya", "you", "your", "ze",
    "zijn", "zo", "zu", "zum", "zur", "è", "é", "über",
};
/* clang-format on */

static int compare_word(const void *word, const void *row)
{
    return strcmp(word, *(const char *const *)row);
}

bool words_is_stop_word(const char *word)
{
    return bsearch(word, stop_words, sizeof(stop_words) / sizeof(stop_words[0]),
                   sizeof(stop_words[0]), compare_word) != NULL;
}
