#include "base/error.hpp"

namespace dbench::base {

void broken_contract(const char* condition, const char* file, int line) {
    throw std::logic_error(std::string("broken contract: ") + condition + " at " + file + ":" +
                           std::to_string(line));
}

}  // namespace dbench::base
