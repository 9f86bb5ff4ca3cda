#pragma once
// Members of families (graphs, algorithms, ...) on the command line.

#include <string>

#include "base/json.hpp"

namespace dbench::bench {

/// The value of a word: JSON where it parses, else text.
base::Json value_of_word(const std::string& text);

/// TYPE:KEY=VALUE:KEY=VALUE as a spec's object. Throws UserError.
base::Json member_of_words(const std::string& words);

}  // namespace dbench::bench
