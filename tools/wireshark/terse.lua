-- Shows handshake caching in Wireshark: cached_info (RFC 7924), and the private extensions client_cached_info (0xFF42)
-- and compact_cache (0xFF44), in ClientHello, ServerHello and EncryptedExtensions, of TLS and DTLS.
--
-- To install: copy this file into Wireshark's folder of personal Lua plugins (Help, About, Folders), or run
--     wireshark -X lua_script:tools/wireshark/terse.lua
-- Filters are, for example, compact_cache.ticket, compact_cache.client_certificate == 1, client_cached_info.index.
--
-- EncryptedExtensions can be seen where the handshake can be decrypted: captures of the simulator have the keys inside.
--
-- Frames of the simulator's 6TiSCH networks, in PAN 0xcafe, are read as 6LoWPAN. Wireshark needs the prefix of the mesh to expand
-- addresses: -o 6lowpan.context0:bbbb::/64. It does not reassemble fragments whose packet begins with a routing header: what is in
-- them is read in the capture of the IPv6 packets at the gateway.

DissectorTable.get("wpan.panid"):add(0xCAFE, Dissector.get("6lowpan"))

local caching = Proto("terse", "Handshake caching")

caching.prefs.client_cached_info =
    Pref.uint("client_cached_info", 0xFF42, "Code point of client_cached_info, private use")
caching.prefs.compact_cache = Pref.uint("compact_cache", 0xFF44, "Code point of compact_cache, private use")

local CACHED_INFO = 25
local object_types = { [1] = "cert", [2] = "cert_req" } -- RFC 7924, 3: CachedInformationType

local fields = {
    cached_type = ProtoField.uint8("cached_info.type", "Type", base.DEC, object_types),
    cached_hash = ProtoField.bytes("cached_info.hash_value", "Hash value"),
    client_support = ProtoField.bool("client_cached_info.support_only", "Support only"),
    client_type = ProtoField.uint8("client_cached_info.type", "Type", base.DEC, object_types),
    client_ticket = ProtoField.bytes("client_cached_info.ticket", "Ticket"),
    client_index = ProtoField.uint16("client_cached_info.index", "Index of the selected object"),
    compact_support = ProtoField.bool("compact_cache.support_only", "Support only"),
    compact_ticket = ProtoField.bytes("compact_cache.ticket", "Ticket"),
    compact_parts = ProtoField.uint8("compact_cache.parts", "Parts", base.HEX),
    server_certificate =
        ProtoField.bool("compact_cache.server_certificate", "Server Certificate left out", 8, nil, 0x01),
    certificate_request =
        ProtoField.bool("compact_cache.certificate_request", "CertificateRequest left out", 8, nil, 0x02),
    client_certificate =
        ProtoField.bool("compact_cache.client_certificate", "Client Certificate left out", 8, nil, 0x04),
    reduced = ProtoField.bool("compact_cache.server_certificate_reduced", "Server Certificate reduced", 8, nil, 0x08),
    undefined = ProtoField.uint8("compact_cache.undefined", "Undefined bits", base.HEX, nil, 0xF0),
}
caching.fields = fields

local malformed = ProtoExpert.new(
    "terse.malformed", "Not as specified", expert.group.MALFORMED, expert.severity.ERROR)
caching.experts = { malformed }

-- Reads a TvbRange from its beginning; each function returns nothing if the range ends too early.
local function reader(range)
    local at = 0
    local self = {}
    function self.left() return range:len() - at end
    function self.take(len)
        if len > self.left() then return nil end
        at = at + len
        return len > 0 and range(at - len, len) or nil
    end
    function self.number(len)
        local taken = self.take(len)
        return taken and taken:uint()
    end
    -- Reads a vector whose length takes so many bytes. Returns its bytes, or false if it is empty.
    function self.vector(len)
        local size = self.number(len)
        if not size or size > self.left() then return nil end
        if size == 0 then return false end
        return self.take(size)
    end
    return self
end

-- Reads the objects of a list with a length of two bytes. `object` reads one, and returns whether it was one.
local function list(range, object)
    local whole = reader(range)
    local content = whole.vector(2)
    if content == nil or whole.left() > 0 then return false end
    local objects = content and reader(content)
    while objects and objects.left() > 0 do
        if not object(objects) then return false end
    end
    return true
end

-- Reads a type, and a value that has a length of one byte.
local function typed_value(tree, type_field, value_field)
    return function(objects)
        local kind = objects.take(1)
        local value = kind and objects.vector(1)
        if not value then return false end
        tree:add(type_field, kind)
        tree:add(value_field, value)
        return true
    end
end

local dissectors = {}

dissectors[CACHED_INFO] = {
    name = "cached_info",
    client = function(tree, data)
        return data and list(data, typed_value(tree, fields.cached_type, fields.cached_hash))
    end,
    server = function(tree, data)
        return data and list(data, function(objects)
            tree:add(fields.cached_type, objects.take(1))
            return true
        end)
    end,
}

local client_cached_info = {
    name = "client_cached_info",
    client = function(tree, data)
        if not data then tree:add(fields.client_support, true) return true end
        return list(data, typed_value(tree, fields.client_type, fields.client_ticket))
    end,
    server = function(tree, data)
        if not data then tree:add(fields.client_support, true) return true end
        return list(data, function(objects)
            local kind, index = objects.take(1), objects.take(2)
            if not index then return false end
            tree:add(fields.client_type, kind)
            tree:add(fields.client_index, index)
            return true
        end)
    end,
}

local compact_cache = {
    name = "compact_cache",
    client = function(tree, data)
        if not data then tree:add(fields.compact_support, true) return true end
        tree:add(fields.compact_ticket, data)
        return data:len() == 8
    end,
    server = function(tree, data)
        if not data then tree:add(fields.compact_support, true) return true end
        if data:len() ~= 1 then return false end
        local parts = tree:add(fields.compact_parts, data)
        parts:add(fields.server_certificate, data)
        parts:add(fields.certificate_request, data)
        parts:add(fields.client_certificate, data)
        parts:add(fields.reduced, data)
        parts:add(fields.undefined, data)
        return true
    end,
}

local function set_code_points()
    for code_point in pairs(dissectors) do
        if code_point ~= CACHED_INFO then dissectors[code_point] = nil end
    end
    dissectors[caching.prefs.client_cached_info] = client_cached_info
    dissectors[caching.prefs.compact_cache] = compact_cache
end
set_code_points()
caching.prefs_changed = set_code_points

-- Skips the fields that each message has before its extensions, and returns whose message it is. The body of a message begins
-- after `header` bytes.
local function to_extensions(message, header, datagrams)
    local body = reader(message(header))
    local kind = message(0, 1):uint()
    if kind == 1 then -- ClientHello
        if not body.take(34) or body.vector(1) == nil then return nil end
        if datagrams and body.vector(1) == nil then return nil end -- legacy_cookie
        if body.vector(2) == nil or body.vector(1) == nil then return nil end
        return "client", body
    elseif kind == 2 then -- ServerHello
        if not body.take(34) or body.vector(1) == nil or not body.take(3) then return nil end
        return "server", body
    elseif kind == 8 then -- EncryptedExtensions
        return "server", body
    end
    return nil
end

local function show(message, tree, header, datagrams)
    -- A fragment, or a message that is not complete, is shown once the message is complete.
    if message:len() <= header or message(1, 3):uint() + header ~= message:len() then return end
    local side, body = to_extensions(message, header, datagrams)
    local block = side and body.vector(2)
    local extensions = block and reader(block)
    while extensions and extensions.left() >= 4 do
        local code_point = extensions.number(2)
        local data = extensions.vector(2)
        if data == nil then return end
        local dissector = dissectors[code_point]
        if dissector then
            local range = data or message
            local subtree = tree:add(caching, range, string.format("%s (%d)", dissector.name, code_point))
            if not dissector[side](subtree, data) then subtree:add_proto_expert_info(malformed) end
        end
    end
end

local handshakes = {
    { field = Field.new("tls.handshake"), header = 4, datagrams = false },
    { field = Field.new("dtls.handshake"), header = 12, datagrams = true },
}

function caching.dissector(_, _, tree)
    for _, kind in ipairs(handshakes) do
        for _, message in ipairs({ kind.field() }) do
            if message.len > kind.header then show(message.range, tree, kind.header, kind.datagrams) end
        end
    end
end

register_postdissector(caching)
