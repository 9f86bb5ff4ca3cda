#include "comm/read_in_place.hpp"

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace dbench::comm {

bool reading_in_place_disabled() {
    const char* const value = std::getenv("DBENCH_READ_IN_PLACE");
    const std::string text = value ? value : "";
    if (text.empty() || text == "1") return false;
    if (text == "0") return true;
    throw base::UserError("DBENCH_READ_IN_PLACE=" + text +
                          " is neither 0 (messages everywhere) nor 1 (ranks of a host read "
                          "neighbours' rows in place, the default)");
}

}  // namespace dbench::comm
