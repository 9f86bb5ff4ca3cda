#include "predict/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace dbench::predict {

using base::Json;

namespace {

constexpr const char* kFormat = "dbench-calibration";
constexpr int kFormatVersion = 1;
constexpr double kLargest = 1e15;  // of every number in a file
constexpr double kMost = 1 << 20;  // of every count in a file

Json link_json(const Link& link, double one_way) {
    return {{"latency", link.latency}, {"one_way", one_way}, {"both_ways", 2 * link.bandwidth}};
}

/// Reads members of the JSON object of a file; errors name the file and the member.
class Reader {
public:
    Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

    Reader in(const char* key) const { return {member(key), where_ + "/" + key}; }
    bool has(const char* key) const {
        return json_.is_object() && json_.contains(key) && !json_.at(key).is_null();
    }
    const Json& member(const char* key) const {
        if (!has(key)) fail(where_ + "/" + key, "is missing");
        return json_.at(key);
    }
    double number(const char* key, double least, double most = kLargest) const {
        const Json& value = member(key);
        const double found = value.is_number() ? value.get<double>() : NAN;
        if (!(found >= least && found <= most)) {
            fail(where_ + "/" + key, "is " + base::short_text(value) + ", which is not possible");
        }
        return found;
    }
    double count(const char* key, double least) const { return number(key, least, kMost); }
    double positive(const char* key) const { return std::max(number(key, 0), 1e-300); }
    std::string text(const char* key) const {
        const Json& value = member(key);
        if (!value.is_string()) fail(where_ + "/" + key, "is not a text");
        return value.get<std::string>();
    }
    const std::string& where() const { return where_; }
    [[noreturn]] static void fail(const std::string& where, const std::string& what) {
        throw base::UserError(where + ": " + what + ": measure again with dbench calibrate");
    }

private:
    const Json& json_;
    std::string where_;
};

Link link_of(const Reader& link, double& one_way) {
    one_way = link.positive("one_way");
    return {link.number("latency", 0), link.positive("both_ways") / 2};
}

Json exchange_json(const Exchange& exchange) {
    if (exchange.bytes == 0) return nullptr;
    return {{"bytes", exchange.bytes}, {"quantiles", exchange.seconds.to_json()}};
}

Exchange read_exchange(const Reader& exchange) {
    const std::string where = exchange.where() + "/quantiles";
    Exchange found{exchange.positive("bytes"),
                   Distribution::from_json(exchange.member("quantiles"), where)};
    if (found.seconds.at(0) <= 0) Reader::fail(where, "has an exchange that took no time");
    return found;
}

Json prolongation_json(const Prolongation& prolongation) {
    Json all = Json::array();
    for (const auto& [bytes, seconds] : prolongation.measured) {
        all.push_back({{"bytes", bytes}, {"seconds", seconds}});
    }
    return all;
}

// Reads the prolongation of an order. Files of earlier versions have the seconds per byte.
Prolongation prolongation_of(const Reader& order) {
    constexpr const char* kKey = "prolongation";
    Prolongation found;
    if (!order.has(kKey)) {
        const double sent = order.number("sent", 0);
        if (sent > 0) found.measured[sent] = sent * order.number("compute_per_byte", 0);
        return found;
    }
    const Json& all = order.member(kKey);
    const std::string where = order.where() + "/" + kKey;
    if (!all.is_array()) Reader::fail(where, "is not a list");
    for (const Json& each : all) {
        const Reader one(each, where);
        found.measured[one.positive("bytes")] = one.number("seconds", -kLargest);
    }
    return found;
}

// Reads exchanges that files of earlier versions lack.
Exchange exchange_of(const Reader& parent, const char* key) {
    return parent.has(key) ? read_exchange(parent.in(key)) : Exchange{};
}

// Reads the list of exchanges with several hosts, which files of earlier versions lack.
std::map<int, Exchange> exchanges_with_several_of(const Reader& links) {
    constexpr const char* kKey = "exchanges_with_several";
    std::map<int, Exchange> found;
    if (!links.has(kKey)) return found;
    const Json& all = links.member(kKey);
    const std::string where = links.where() + "/" + kKey;
    if (!all.is_array()) Reader::fail(where, "is not a list");
    for (const Json& each : all) {
        const Reader exchange(each, where);
        found[static_cast<int>(exchange.count("peers", 2))] = read_exchange(exchange);
    }
    return found;
}

// Returns the keys of a model in which two subjects differ, with their values.
std::string model_differences(const Json& then, const Json& now) {
    std::string text;
    const auto add = [&](const std::string& key) {
        // Files of earlier versions do not say what a sample is.
        if (key == "sample" && !then.contains(key)) return;
        const Json old = then.value(key, Json()), current = now.value(key, Json());
        if (old == current) return;
        text += (text.empty() ? "" : ", ") + key + ": measured with " + base::short_text(old) +
                ", now " + base::short_text(current);
    };
    if (!then.is_object() || !now.is_object()) return then == now ? "" : "it is no object";
    for (const auto& item : now.items()) add(item.key());
    for (const auto& item : then.items()) {
        if (!now.contains(item.key())) add(item.key());
    }
    return text;
}

// Returns "1.2.3" of "1.2.3 (commit)".
std::string version_of(const std::string& program) { return program.substr(0, program.find(' ')); }

std::string machine_text(const Subject& s) {
    return s.cpu + ", " + std::to_string(s.cores) + " cores, device " + s.device + ", " +
           std::to_string(s.threads) + (s.threads == 1 ? " thread" : " threads") + " per rank";
}

}  // namespace

std::vector<Difference> differences(const Subject& measured, const Subject& now) {
    std::vector<Difference> found;
    const auto compare = [&](const char* name, const std::string& then, const std::string& today,
                             bool permitted = false) {
        if (then == today) return;
        found.push_back({name, "measured with " + then + ", now " + today, permitted});
    };
    compare("machine", machine_text(measured), machine_text(now));
    const std::string model = model_differences(measured.model, now.model);
    if (!model.empty()) found.push_back({"model", model, false});
    compare("precision", measured.precision, now.precision);
    compare("program", measured.program, now.program,
            version_of(measured.program) == version_of(now.program));
    return found;
}

int Calibration::ranks_per_host() const {
    std::map<std::string, int> ranks;
    int most = 1;
    for (const std::string& host : hosts) most = std::max(most, ++ranks[host]);
    return most;
}

double Calibration::row_bytes() const {
    double sum = 0;
    for (const Bucket& bucket : buckets) sum += bucket.bytes;
    return sum;
}

OrderCosts costs_of(const Calibration& c, Order order) {
    if (const auto found = c.orders.find(order); found != c.orders.end()) return found->second;
    OrderCosts costs{{c.update, c.seconds_per_byte}, c.compute};
    const auto similar = c.orders.find(Order::adapt_then_combine);
    if (similar == c.orders.end()) return costs;
    if (order == Order::combine_then_adapt) {  // no message moves while ranks compute
        costs.row_costs.seconds_per_byte = similar->second.row_costs.seconds_per_byte;
    } else {
        costs.row_costs.prolongation = similar->second.row_costs.prolongation;
    }
    return costs;
}

Json to_json(const Calibration& c) {
    Json orders = Json::object();
    for (const auto& [order, name] : kMeasuredOrders) {
        const auto found = c.orders.find(order);
        if (found == c.orders.end()) continue;
        const OrderCosts& costs = found->second;
        orders[name] = {{"update", costs.row_costs.update},
                        {"seconds_per_byte", costs.row_costs.seconds_per_byte},
                        {"prolongation", prolongation_json(costs.row_costs.prolongation)},
                        {"sent", costs.sent},
                        {"compute", costs.compute.to_json()},
                        {"exchange", exchange_json(costs.exchange)},
                        {"changing_exchange", exchange_json(costs.changing)}};
    }
    Json buckets = Json::array();
    for (const Bucket& bucket : c.buckets) {
        buckets.push_back({{"bytes", bucket.bytes}, {"ready", bucket.ready}});
    }
    Json several = Json::array();
    for (const auto& [peers, exchange] : c.exchanges_with_several) {
        several.push_back(exchange_json(exchange));
        several.back()["peers"] = peers;
    }
    const Subject& s = c.subject;
    return {{"format", kFormat},
            {"format_version", kFormatVersion},
            {"created", base::iso_time()},
            {"program", s.program},
            {"machine",
             {{"cpu", s.cpu},
              {"cores", s.cores},
              {"device", s.device},
              {"threads_per_rank", s.threads},
              {"hosts", c.hosts}}},
            {"model", s.model},
            {"precision", s.precision},
            {"replicas_per_rank", c.replicas_per_rank},
            {"compute",
             {{"iterations", c.samples},
              {"mean", c.compute.mean()},
              {"variance", c.compute.variance()},
              {"quantiles", c.compute.to_json()}}},
            {"buckets", buckets},
            {"update", c.update},
            {"seconds_per_byte", c.seconds_per_byte},
            {"orders", orders},
            {"links",
             {{"local", c.has_local ? link_json(c.local, c.local_one_way) : Json(nullptr)},
              {"in_place", c.in_place},
              {"remote", c.has_remote ? link_json(c.remote, c.remote_one_way) : Json(nullptr)},
              {"uplink", c.has_remote ? Json(c.uplink) : Json(nullptr)},
              {"exchange", exchange_json(c.exchange)},
              {"exchanges_with_several", several}}},
            {"assumptions", c.assumptions}};
}

Calibration calibration_of(const Json& json, const std::string& path) {
    const Reader file(json, path + ": ");
    if (!json.is_object() || json.value("format", Json()) != kFormat) {
        throw base::UserError(path +
                              ": is not a calibration: name a file that dbench calibrate wrote");
    }
    if (json.value("format_version", Json()) != kFormatVersion) {
        throw base::UserError(path + ": has format version " +
                              base::short_text(json.value("format_version", Json())) +
                              " (this program reads " + std::to_string(kFormatVersion) +
                              "): measure again with dbench calibrate");
    }
    Calibration c;
    const Reader machine = file.in("machine"), compute = file.in("compute"),
                 links = file.in("links");
    c.subject = {machine.text("cpu"),    static_cast<int>(machine.count("cores", 1)),
                 machine.text("device"), static_cast<int>(machine.count("threads_per_rank", 1)),
                 file.member("model"),   file.text("precision"),
                 file.text("program")};
    const Json& hosts = machine.member("hosts");
    const auto is_text = [](const Json& each) { return each.is_string(); };
    if (!hosts.is_array() || hosts.empty() || !std::all_of(hosts.begin(), hosts.end(), is_text)) {
        Reader::fail(machine.where() + "/hosts", "is not a list of names");
    }
    for (const Json& host : hosts) c.hosts.push_back(host.get<std::string>());
    c.replicas_per_rank = file.count("replicas_per_rank", 1);
    c.compute = Distribution::from_json(compute.member("quantiles"), path + ": /compute/quantiles");
    c.samples = static_cast<int64_t>(compute.number("iterations", 0));
    c.update = file.number("update", 0);
    c.seconds_per_byte = file.number("seconds_per_byte", 0);
    for (const auto& [order, name] : kMeasuredOrders) {
        if (!file.has("orders") || !file.in("orders").has(name)) continue;
        const Reader each = file.in("orders").in(name);
        c.orders[order] = {
            {each.number("update", 0), each.number("seconds_per_byte", 0), prolongation_of(each)},
            Distribution::from_json(each.member("compute"), each.where() + "/compute"),
            each.number("sent", 0),
            exchange_of(each, "exchange"),
            exchange_of(each, "changing_exchange")};
    }
    const Json& buckets = file.member("buckets");
    if (!buckets.is_array() || buckets.empty()) {
        Reader::fail(file.where() + "/buckets", "is not a list of buckets");
    }
    for (const Json& each : buckets) {
        const Reader bucket(each, path + ": /buckets");
        const double ready = std::min(1.0, bucket.number("ready", 0));
        if (!c.buckets.empty() && ready < c.buckets.back().ready) {
            Reader::fail(bucket.where() + "/ready", "is less than that of the bucket before");
        }
        c.buckets.push_back({bucket.positive("bytes"), ready});
    }
    // The simulation divides rows into tiles: a wrong number of bytes could exhaust the memory.
    if (c.row_bytes() > sizeof(double) * file.in("model").number("parameters", 0)) {
        Reader::fail(file.where() + "/buckets", "have more bytes than the model's parameters");
    }
    c.has_local = links.has("local");
    if (c.has_local) c.local = link_of(links.in("local"), c.local_one_way);
    c.in_place = links.member("in_place") == true;
    c.has_remote = links.has("remote");
    if (c.has_remote) {
        c.remote = link_of(links.in("remote"), c.remote_one_way);
        c.uplink = links.positive("uplink");
    }
    c.exchange = exchange_of(links, "exchange");
    c.exchanges_with_several = exchanges_with_several_of(links);
    const Json& assumptions = file.member("assumptions");
    if (!assumptions.is_array() || !std::all_of(assumptions.begin(), assumptions.end(), is_text)) {
        Reader::fail(file.where() + "/assumptions", "is not a list of texts");
    }
    for (const Json& each : assumptions) c.assumptions.push_back(each.get<std::string>());
    return c;
}

}  // namespace dbench::predict
