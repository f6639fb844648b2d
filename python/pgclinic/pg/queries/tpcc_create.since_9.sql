-- The nine tables as BenchBase has them, still without keys. Their comments say who made them, so that nobody else's
-- tables of these names are ever dropped; warehouse's comment also says how far the filling is.
create table warehouse (
  w_id int not null,
  w_ytd decimal(12, 2) not null,
  w_tax decimal(4, 4) not null,
  w_name varchar(10) not null,
  w_street_1 varchar(20) not null,
  w_street_2 varchar(20) not null,
  w_city varchar(20) not null,
  w_state char(2) not null,
  w_zip char(9) not null
);

create table item (
  i_id int not null,
  i_name varchar(24) not null,
  i_price decimal(5, 2) not null,
  i_data varchar(50) not null,
  i_im_id int not null
);

create table stock (
  s_w_id int not null,
  s_i_id int not null,
  s_quantity int not null,
  s_ytd decimal(8, 2) not null,
  s_order_cnt int not null,
  s_remote_cnt int not null,
  s_data varchar(50) not null,
  s_dist_01 char(24) not null,
  s_dist_02 char(24) not null,
  s_dist_03 char(24) not null,
  s_dist_04 char(24) not null,
  s_dist_05 char(24) not null,
  s_dist_06 char(24) not null,
  s_dist_07 char(24) not null,
  s_dist_08 char(24) not null,
  s_dist_09 char(24) not null,
  s_dist_10 char(24) not null
);

create table district (
  d_w_id int not null,
  d_id int not null,
  d_ytd decimal(12, 2) not null,
  d_tax decimal(4, 4) not null,
  d_next_o_id int not null,
  d_name varchar(10) not null,
  d_street_1 varchar(20) not null,
  d_street_2 varchar(20) not null,
  d_city varchar(20) not null,
  d_state char(2) not null,
  d_zip char(9) not null
);

create table customer (
  c_w_id int not null,
  c_d_id int not null,
  c_id int not null,
  c_discount decimal(4, 4) not null,
  c_credit char(2) not null,
  c_last varchar(16) not null,
  c_first varchar(16) not null,
  c_credit_lim decimal(12, 2) not null,
  c_balance decimal(12, 2) not null,
  c_ytd_payment float not null,
  c_payment_cnt int not null,
  c_delivery_cnt int not null,
  c_street_1 varchar(20) not null,
  c_street_2 varchar(20) not null,
  c_city varchar(20) not null,
  c_state char(2) not null,
  c_zip char(9) not null,
  c_phone char(16) not null,
  c_since timestamp not null default current_timestamp,
  c_middle char(2) not null,
  c_data varchar(500) not null
);

create table history (
  h_c_id int not null,
  h_c_d_id int not null,
  h_c_w_id int not null,
  h_d_id int not null,
  h_w_id int not null,
  h_date timestamp not null default current_timestamp,
  h_amount decimal(6, 2) not null,
  h_data varchar(24) not null
);

create table oorder (
  o_w_id int not null,
  o_d_id int not null,
  o_id int not null,
  o_c_id int not null,
  o_carrier_id int,
  o_ol_cnt int not null,
  o_all_local int not null,
  o_entry_d timestamp not null default current_timestamp
);

create table new_order (
  no_w_id int not null,
  no_d_id int not null,
  no_o_id int not null
);

create table order_line (
  ol_w_id int not null,
  ol_d_id int not null,
  ol_o_id int not null,
  ol_number int not null,
  ol_i_id int not null,
  ol_delivery_d timestamp,
  ol_amount decimal(6, 2) not null,
  ol_supply_w_id int not null,
  ol_quantity decimal(6, 2) not null,
  ol_dist_info char(24) not null
);

comment on table warehouse is 'pgclinic tpcc: filling';
comment on table item is 'pgclinic tpcc';
comment on table stock is 'pgclinic tpcc';
comment on table district is 'pgclinic tpcc';
comment on table customer is 'pgclinic tpcc';
comment on table history is 'pgclinic tpcc';
comment on table oorder is 'pgclinic tpcc';
comment on table new_order is 'pgclinic tpcc';
comment on table order_line is 'pgclinic tpcc'
