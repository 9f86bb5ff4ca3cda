#include "graphs/links.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json.hpp"

namespace dbench::graphs {
namespace {

std::vector<std::string> words_of(const std::string& line) {
    constexpr const char* kSeparators = " \t\r,;";
    std::vector<std::string> words;
    const std::string text = line.substr(0, line.find('#'));
    for (size_t at = 0; (at = text.find_first_not_of(kSeparators, at)) != text.npos;) {
        const size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

double number(const std::string& word, const std::string& where, const std::string& what,
              bool may_be_zero) {
    double value = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value) ||
        value < 0 || (value == 0 && !may_be_zero)) {
        throw base::UserError(where + ": '" + word + "' is not a valid " + what +
                              ": give a number " + (may_be_zero ? "from 0" : "above 0"));
    }
    return value;
}

bool is_slot(const std::string& name) { return name.find_first_not_of("0123456789") == name.npos; }

}  // namespace

LinkTable::LinkTable(const std::string& content, std::string path) : path_(std::move(path)) {
    size_t number_of_line = 0;
    std::set<std::string> seen;
    for (size_t start = 0; start < content.size();) {
        const size_t end = std::min(content.find('\n', start), content.size());
        const auto words = words_of(content.substr(start, end - start));
        start = end + 1;
        const std::string where = path_ + ": line " + std::to_string(++number_of_line);
        if (words.empty()) continue;
        if (words.size() != 4) {
            throw base::UserError(where + " has " + std::to_string(words.size()) +
                                  " words (a link is \"FROM TO LATENCY BANDWIDTH\", in seconds and "
                                  "bytes a second)");
        }
        const Line line{number_of_line, number(words[2], where, "latency in seconds", true),
                        number(words[3], where, "bandwidth in bytes a second", false)};
        const auto [other, first] = lines_.emplace(std::pair(words[0], words[1]), line);
        if (!first) {
            throw base::UserError(where + ": the link from " + words[0] + " to " + words[1] +
                                  " is already given in line " +
                                  std::to_string(other->second.number) + ": remove one");
        }
        for (const std::string& name : {words[0], words[1]}) {
            if (seen.insert(name).second) hosts_.push_back(name);
        }
    }
    if (std::all_of(hosts_.begin(), hosts_.end(), is_slot)) hosts_.clear();
}

const LinkTable::Line* LinkTable::find(const std::string& from, const std::string& to) const {
    for (const auto& pair : {std::pair(from, to), std::pair(to, from)}) {
        const auto line = lines_.find(pair);
        if (line != lines_.end()) return &line->second;
    }
    return nullptr;
}

Links LinkTable::between(const std::vector<std::string>& hosts) const {
    const bool by_hosts = !hosts_.empty();
    Links links(static_cast<int>(hosts.size()));
    for (int from = 0; from < links.slots; ++from) {
        for (int to = 0; to < links.slots; ++to) {
            if (from == to) continue;
            const std::string a = by_hosts ? hosts[from] : std::to_string(from);
            const std::string b = by_hosts ? hosts[to] : std::to_string(to);
            const Line* line = find(a, b);
            if (!line) {
                const std::string kind = by_hosts ? "host " : "slot ";
                throw base::UserError(path_ + ": has no link between " + kind + a + " and " + kind +
                                      b + ": add a line \"" + a + " " + b + " LATENCY BANDWIDTH\"");
            }
            links.latency[links.at(from, to)] = line->latency;
            links.bandwidth[links.at(from, to)] = line->bandwidth;
        }
    }
    return links;
}

LinkTable read_links(const std::string& path) { return {base::read_plain_text(path), path}; }

std::string to_text(const Links& links, const std::vector<std::string>& hosts) {
    std::string text = "# from to latency (s) bandwidth (bytes/s)\n";
    for (int slot = 0; slot < links.slots; ++slot) {
        text += "# slot " + std::to_string(slot) + ": " + hosts[slot] + "\n";
    }
    for (int from = 0; from < links.slots; ++from) {
        for (int to = 0; to < links.slots; ++to) {
            if (from == to) continue;
            char line[96];
            std::snprintf(line, sizeof line, "%d %d %.6g %.6g\n", from, to,
                          links.latency[links.at(from, to)], links.bandwidth[links.at(from, to)]);
            text += line;
        }
    }
    return text;
}

}  // namespace dbench::graphs
