// Fuzz target for specs: the content of a file and, after a NUL byte (if there is one), an argument
// of --set.

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/log.hpp"
#include "fuzz.hpp"
#include "program/spec.hpp"
#include "program/spec_merge.hpp"

namespace dbench::fuzz {

const char* const kWords[] = {"{",
                              "}",
                              "[",
                              "]",
                              "null",
                              "1e308",
                              "-1",
                              "18446744073709551615",
                              "9223372036854775808",
                              "0.5",
                              "\"type\":",
                              "\"graph\":",
                              "\"ring\"",
                              "\"base\":",
                              "\"algorithm\":",
                              "\"every\":",
                              "{\"epochs\":",
                              "{\"iterations\":",
                              "\"full\"",
                              "// x\n",
                              "\\u0000",
                              "\xff\xfe",
                              nullptr};

void read(const std::string& input) {
    base::set_log_identity(0, true);
    const size_t end = input.find('\0');
    const std::string path = in_file(input.substr(0, end), "spec.json");
    std::vector<std::string> settings;
    if (end != input.npos)
        settings.emplace_back(input.c_str() + end + 1);  // Arguments end at a NUL byte.
    const program::Spec spec = program::resolve_spec(program::read_spec(path, settings), "run");
    static_cast<void>(spec.resolved.dump());
}

}  // namespace dbench::fuzz
